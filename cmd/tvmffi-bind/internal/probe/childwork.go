package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/libraries"
	"github.com/tvmffi-go/tvmffi/reflection"
	"github.com/tvmffi-go/tvmffi/schema"
)

// ChildCommand is the hidden command of the process that loads libraries. Its argument
// names the pipe for the replies.
const ChildCommand = "read-child"

// Serve reads a request from in, carries it out and writes the replies to the pipe. It
// is what ChildCommand runs.
func Serve(ctx context.Context, in io.Reader, pipe string) error {
	fd, err := strconv.ParseUint(pipe, 10, 64)
	if err != nil {
		return errors.New("this command is not meant to be called by hand")
	}
	w := os.NewFile(uintptr(fd), "pipe")
	defer w.Close()
	debug.SetGCPercent(100) // the libraries take enough memory
	out := json.NewEncoder(w)

	var request childRequest
	if err := json.NewDecoder(in).Decode(&request); err != nil {
		return err
	}
	reply, err := answer(ctx, request, func(doing string) error {
		return out.Encode(childReply{Doing: doing})
	})
	if err != nil {
		reply = childReply{Error: err.Error()}
	}
	if err := out.Encode(reply); err != nil {
		return fmt.Errorf("cannot answer: %w", err)
	}
	if _, err := w.Write(reply.schema); err != nil {
		return fmt.Errorf("cannot answer: %w", err)
	}
	return nil
}

// answer does what the request asks for, in the child process. Before each step it
// calls announce, so that the parent knows what the process was doing if it dies.
func answer(ctx context.Context, request childRequest, announce func(doing string) error) (childReply, error) {
	if request.Call != nil {
		return call(request, announce)
	}
	libs := make([]reflection.Source, len(request.Libraries))
	names := make([]string, len(libs))
	for i, l := range request.Libraries {
		libs[i] = reflection.Source{Path: l.Path, Library: l.Identity}
		names[i] = l.Path
	}
	if err := announce("loading " + strings.Join(names, ", ")); err != nil {
		return childReply{}, err
	}
	found := substitutes{folder: request.Folder}
	libraries.Reading(found.provide)
	s, err := reflection.Read(ctx, libs)
	if err != nil {
		return childReply{Error: err.Error(), Lacks: found.lacks}, nil
	}
	data, err := schema.Encode(s)
	reply := childReply{Read: len(data), schema: data, StandIns: found.standIns}
	if !found.asked {
		reply.Images = dynlib.Images()
	}
	return reply, err
}
