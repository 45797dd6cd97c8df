// Package reflection reads what the loaded TVM-FFI libraries offer: global
// functions, object types with their fields and methods, and the functions that
// libraries export as modules.
//
// Loading foreign code may end the process. A tool that reads libraries it does
// not know does so in a child process, as tvmffi-bind does.
package reflection
