package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/internal/child"
	"github.com/tvmffi-go/tvmffi/internal/symbols"
	"github.com/tvmffi-go/tvmffi/internal/whole"
	"github.com/tvmffi-go/tvmffi/schema"
)

// Loading foreign code may kill the process, so it happens in a child: the tool
// itself with the hidden command read-child. The request goes to its standard
// input, the replies come through a pipe of their own, because libraries print.

// childRequest says what the child has to do.
type childRequest struct {
	// Libraries are loaded in this order; the first is libtvm_ffi.
	Libraries []Library `json:"libraries"`
	// Call is a function to call instead of reading the registry.
	Call *callRequest `json:"call,omitempty"`
	// Folder is an empty folder, for stand-ins, or for a call to run in. The parent removes it, also if the child dies.
	Folder string `json:"folder,omitempty"`
}

// callRequest names a function and gives its arguments as a JSON array.
type callRequest struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// childReply is one message of the child; one of the first five fields is set. After the last
// message comes the schema, if there is one.
type childReply struct {
	Doing  string          `json:"doing,omitempty"` // what comes next, such as "loading libgarden.so"
	Read   int             `json:"read,omitempty"`  // the size of the schema, which follows
	Result json.RawMessage `json:"result,omitempty"`
	Thrown string          `json:"thrown,omitempty"` // the error of the called function
	Error  string          `json:"error,omitempty"`  // why the request failed
	// StandIns are the libraries that stand-ins replaced, and Lacks one that is missing.
	StandIns []string `json:"stand_ins,omitempty"`
	Lacks    string   `json:"lacks,omitempty"`
	// Images are the files that the process had loaded when it had read the libraries. It says none if it
	// provided a library that the loader had not found.
	Images []string `json:"images,omitempty"`

	schema []byte
}

var errTimeout = errors.New("timeout")

// keptOpen is how long the tool reads on after the end of a child, from pipes that other processes keep open.
const keptOpen = time.Second

// Prober finds libraries, and reads and calls them in a child process.
type Prober struct {
	Console *console.Console // for notes and progress
	Offline bool             // never download
	// Examines is set by doctor, to which what is missing is a finding.
	Examines bool
	Timeout  time.Duration // of the child process
	// Most is how many megabytes a wheel that is not pinned may have when it is unpacked; if it is 0, that
	// follows from the size of its file.
	Most int64

	// StandIns are the libraries that this machine lacks and that stand-ins replaced when
	// libraries were read last.
	StandIns []string

	// opened are the libraries that were read last, images the files of the process that did it; see childReply.
	opened, images []string

	// Wheels has the wheels that libraries were found in and that are not pinned, by NAME==VERSION.
	Wheels map[string]project.WheelFile

	hashes map[string]string            // of files, by path
	locked map[string]project.WheelFile // what the lock of the configuration says, like Wheels
	chosen map[string]project.WheelFile // what Discover found, like Wheels; it comes before the lock

	lastKey, last []byte // the libraries that were read last, and their schema
}

// ReadLibraries returns the schema of libs, the first of which is libtvm_ffi.
func (p *Prober) ReadLibraries(ctx context.Context, libs []Library) (schema.Schema, error) {
	key, err := json.Marshal(libs)
	if err != nil {
		return schema.Schema{}, err
	}
	if bytes.Equal(key, p.lastKey) { // init reads, finds names, and then generates
		return schema.Decode(p.last)
	}
	reply, err := p.read(ctx, libs)
	if err != nil && reply.Lacks != "" && p.getCUDA(ctx, reply.Lacks) {
		reply, err = p.read(ctx, libs)
	}
	var d *death
	if errors.As(err, &d) {
		return schema.Schema{}, p.blame(ctx, libs, d)
	}
	if err != nil && reply.Lacks != "" {
		return schema.Schema{}, &missing{reply.Lacks, err}
	}
	if err != nil {
		return schema.Schema{}, err
	}
	if p.StandIns = reply.StandIns; len(p.StandIns) > 0 && !p.Examines {
		p.Console.Notef("%s\n", p.Replaced())
	}
	p.opened, p.images = nil, reply.Images
	for _, l := range libs {
		p.opened = append(p.opened, l.Path)
	}
	p.lastKey, p.last = key, reply.schema
	return schema.Decode(reply.schema)
}

// missing is the error for libraries that need another one, which this machine lacks.
type missing struct {
	library string // its file name
	error
}

// Unwrap returns the error of the loader.
func (m *missing) Unwrap() error { return m.error }

// IsMissing reports whether an error is about a library that other ones need and that this machine lacks.
func IsMissing(err error) bool {
	_, is := errors.AsType[*missing](err)
	return is
}

// Replaced says which libraries stand-ins replaced when libraries were read last; "" if none.
func (p *Prober) Replaced() string {
	if len(p.StandIns) == 0 {
		return ""
	}
	return fmt.Sprintf("read with empty stand-ins for what this machine lacks: %s; programs need the real ones", console.Few(p.StandIns))
}

// read asks a child for the schema of libs.
func (p *Prober) read(ctx context.Context, libs []Library) (reply childReply, err error) {
	_, err = p.Console.Step("reading the libraries", func() (err error) {
		reply, err = p.withStandIns(ctx, libs)
		return err
	})
	return reply, err
}

// withStandIns reads libs in a child that has a folder for stand-ins.
func (p *Prober) withStandIns(ctx context.Context, libs []Library) (childReply, error) {
	folder, remove, err := whole.Folder("")
	if err != nil {
		return childReply{}, err
	}
	defer remove()
	return p.inChild(ctx, childRequest{Libraries: libs, Folder: folder})
}

// blame finds the library that kills the process, by loading one more each time.
func (p *Prober) blame(ctx context.Context, libs []Library, d *death) error {
	for n := 1; n < len(libs); n++ {
		var earlier *death
		if _, err := p.withStandIns(ctx, libs[:n]); errors.As(err, &earlier) {
			earlier.doing = "loading " + libs[n-1].Path
			return earlier
		}
	}
	d.doing = "loading " + libs[len(libs)-1].Path
	return d
}

// inChild runs one request in a child process and returns its last reply.
func (p *Prober) inChild(ctx context.Context, request childRequest) (childReply, error) {
	for i, lib := range request.Libraries {
		file, err := checkFile(lib.Path)
		if err != nil {
			return childReply{}, err
		}
		if i > 0 && lib.Identity.Role == schema.RoleBound && !file.UsesFFI() {
			return childReply{}, console.Refuse("%s has no TVM-FFI functions or types: name another library, or name it with --dep (deps: in %s) if another one needs it", lib.Identity.File, project.ConfigName)
		}
	}
	input, err := json.Marshal(request)
	if err != nil {
		return childReply{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.Timeout, errTimeout)
	defer cancel()
	words := &lastWords{}
	cmd, replies, err := startChild(ctx, input, words, request)
	if err != nil {
		return childReply{}, fmt.Errorf("cannot start a process to load libraries in: %w", err)
	}
	defer replies.Close()
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		// All that the child wrote is in the pipe now. A process that the library started may still hold the other end.
		_ = replies.SetReadDeadline(time.Now().Add(keptOpen))
	}()
	reply, doing, readErr := readReplies(replies, request.Call != nil)
	replies.Close() // a library that goes on writing there does not wait for a reader
	err = <-ended
	if errors.Is(readErr, os.ErrDeadlineExceeded) {
		readErr = nil // it ended without an answer
	}
	switch {
	case reply.answers():
		if reply.Error != "" {
			return reply, errors.New(reply.Error)
		}
		return reply, nil
	case errors.Is(context.Cause(ctx), errTimeout):
		return childReply{}, fmt.Errorf("the process that loads libraries was still %s after %s: a library hangs while it is loaded; give it more time with --timeout, or load it alone to find the culprit", doing, p.Timeout)
	case ctx.Err() != nil:
		return childReply{}, context.Cause(ctx)
	case readErr != nil && !errors.Is(readErr, io.ErrUnexpectedEOF): // the child may have ended because nobody reads on
		return childReply{}, fmt.Errorf("the process that loads libraries sent an invalid answer while %s: %w", doing, readErr)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return childReply{}, newDeath(doing, err, words)
	default:
		return childReply{}, newDeath(doing, errors.New("it ended without an answer"), words)
	}
}

// startChild starts the child with a request. Its output goes to words; its
// answers come out of replies.
func startChild(ctx context.Context, input []byte, words io.Writer, request childRequest) (cmd *exec.Cmd, replies *os.File, err error) {
	exe, err := child.Program()
	if err != nil {
		return nil, nil, err
	}
	replies, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer w.Close()
	cmd = exec.CommandContext(ctx, exe, ChildCommand)
	cmd.Stdin = bytes.NewReader(input)
	cmd.Stdout = words
	cmd.Stderr = words
	cmd.Args[0] = os.Args[0] // exe may be /proc/self/exe, and a test binary looks at its name
	cmd.WaitDelay = keptOpen
	cmd.Env = append(os.Environ(), "GOTRACEBACK=none")
	if request.Call != nil {
		cmd.Dir = request.Folder
	}
	if core := coreOf(request.Libraries); core != "" {
		cmd.Env = append(cmd.Env, "TVMFFI_LIBRARY="+core)
	}
	cmd.Args = []string{os.Args[0], ChildCommand, passPipe(cmd, w)} // exe may be a path without the name of the program
	if err := cmd.Start(); err != nil {
		replies.Close()
		return nil, nil, err
	}
	return cmd, replies, nil
}

// coreOf is the path of libtvm_ffi, the first of the libraries of a request.
func coreOf(libs []Library) string {
	if len(libs) == 0 {
		return ""
	}
	return libs[0].Path
}

// Call calls the function with this name in the registry or in one of libs, with a JSON
// array of arguments. It returns the result as JSON, or the error that the function
// threw. Err means that the call was not made or ended the process.
func (p *Prober) Call(ctx context.Context, libs []Library, name string, args []byte) (result []byte, thrown string, err error) {
	reply, err := p.inChild(ctx, childRequest{Libraries: libs, Call: &callRequest{Name: name, Args: args}})
	return reply.Result, reply.Thrown, err
}

// Try is like Call in an empty folder, for a function of which nothing is known. Files that it writes there are removed.
func (p *Prober) Try(ctx context.Context, libs []Library, name string, args []byte) (result []byte, thrown string, err error) {
	folder, remove, err := whole.Folder("")
	if err != nil {
		return nil, "", err
	}
	defer remove()
	reply, err := p.inChild(ctx, childRequest{Libraries: libs, Call: &callRequest{Name: name, Args: args}, Folder: folder})
	return reply.Result, reply.Thrown, err
}

// checkFile returns an error for a file that this machine cannot load. The error says
// more than the loader's.
func checkFile(path string) (symbols.File, error) {
	file, err := symbols.Read(path)
	if err != nil {
		return symbols.File{}, err
	}
	return file, file.CheckHost(runtime.GOOS, runtime.GOARCH)
}

// readReplies reads up to the answer to a call or to another request, or until nobody can send one. It returns the answer
// and what the child was doing when it gave it or ended.
func readReplies(r io.Reader, call bool) (reply childReply, doing string, err error) {
	doing = "starting"
	d := json.NewDecoder(r)
	for {
		var next childReply
		if err := d.Decode(&next); errors.Is(err, io.EOF) {
			return reply, doing, nil
		} else if err != nil {
			return reply, doing, err
		}
		if next.Doing != "" {
			doing = next.Doing
			continue
		}
		if next.Read > 0 {
			rest := io.MultiReader(d.Buffered(), r)
			if _, err := io.ReadFull(rest, make([]byte, len("\n"))); err != nil { // Encode ends a message with it
				return reply, doing, err
			}
			var schema bytes.Buffer
			if _, err := io.CopyN(&schema, rest, int64(next.Read)); err != nil {
				return reply, doing, err
			}
			next.schema = schema.Bytes()
		}
		if next.Error != "" || !call && next.schema != nil || call && (next.Result != nil || next.Thrown != "") {
			return next, doing, nil
		}
	}
}

// answers tells whether a message is the answer to the request.
func (r childReply) answers() bool {
	return r.Error != "" || r.schema != nil || r.Result != nil || r.Thrown != ""
}
