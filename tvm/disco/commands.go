package disco

import (
	"encoding/json"

	generated "github.com/tvmffi-go/tvmffi/generated/tvm/disco"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// commands are what the methods of Session run on the workers. They have no place in the
// registry, because they need the worker.
var commands map[string]func(*worker, []tvmffi.Any) (any, error)

const commandPrefix = "tvmffi.disco."

func init() {
	commands = map[string]func(*worker, []tvmffi.Any) (any, error){
		commandPrefix + "count":     (*worker).count,
		commandPrefix + "large":     (*worker).large,
		commandPrefix + "report":    (*worker).report,
		commandPrefix + "fetch":     (*worker).fetch,
		commandPrefix + "load":      (*worker).load,
		commandPrefix + "method":    (*worker).method,
		commandPrefix + "put":       (*worker).put,
		commandPrefix + "take":      (*worker).take,
		commandPrefix + "connect":   (*worker).connect,
		commandPrefix + "broadcast": collective("broadcast"),
		commandPrefix + "scatter":   collective("scatter"),
		commandPrefix + "gather":    collective("gather"),
		commandPrefix + "allgather": collective("allgather"),
		commandPrefix + "allreduce": collective("allreduce"),
	}
}

// count returns how many failures there were since the last report, and report returns them. A
// number is what Disco sends back fastest.
func (w *worker) count([]tvmffi.Any) (any, error) { return len(w.failures), nil }

func (w *worker) report([]tvmffi.Any) (any, error) {
	text, err := json.Marshal(w.failures)
	w.failures = nil
	return framed(inBytes, text), err
}

// large makes a call with arguments that came as tensors of bytes. Its arguments are the function,
// a kind for each argument, and the arguments.
func (w *worker) large(args []tvmffi.Any) (any, error) {
	kinds, err := tvmffi.As[string](args[1])
	if err != nil {
		return nil, err
	}
	function, args := args[0], args[2:]
	if f, ok := failureIn(function); ok {
		return f.value(), nil
	}
	arguments := make([]any, len(args))
	for i, kind := range []byte(kinds) {
		if f, ok := failureIn(args[i]); ok {
			return f.value(), nil
		}
		if arguments[i] = args[i]; kind == inPlace {
			continue
		}
		t, err := tvmffi.As[*tvmffi.Tensor](args[i])
		if err != nil {
			return nil, err
		}
		content, err := t.Bytes()
		if err != nil {
			return nil, err
		}
		if arguments[i] = content; kind == inString {
			arguments[i] = string(content)
		}
	}
	return call(nameOf(function), function, arguments)
}

// fetch returns the value that the controller asked one worker for, in a form that can be sent.
func (w *worker) fetch(args []tvmffi.Any) (any, error) {
	rank, err := tvmffi.As[int64](args[0])
	if err != nil || rank != w.id.rank {
		return nil, err
	}
	if here, err := tvmffi.As[bool](args[1]); err != nil || here {
		return args[2], err
	}
	return encode(args[2]), nil
}

// load loads a module. LoadModule refuses a file that is not whole, which would end the process.
func (w *worker) load(args []tvmffi.Any) (any, error) {
	path, err := tvmffi.As[string](args[0])
	if err != nil {
		return nil, err
	}
	whole, err := tvmffi.LoadModule(path)
	if err != nil {
		return nil, err
	}
	defer whole.Release()
	var device *tvmffi.Device
	if !args[1].IsNone() {
		d, err := tvmffi.As[tvmffi.Device](args[1])
		if err != nil {
			return nil, err
		}
		device = &d
	}
	m, err := generated.LoadVMModule(path, device)
	if err != nil {
		return nil, err
	}
	return tvmffi.Move(m), nil
}

// method returns a function of a module.
func (w *worker) method(args []tvmffi.Any) (any, error) {
	if f, ok := failureIn(args[0]); ok {
		return f.value(), nil
	}
	m, err := tvmffi.As[*tvmffi.Module](args[0])
	if err != nil {
		return nil, err
	}
	name, err := tvmffi.As[string](args[1])
	if err != nil {
		return nil, err
	}
	f, err := m.Function(name)
	if err != nil {
		return nil, err
	}
	return tvmffi.Move(f), nil
}
