package main

import (
	"context"
	"strings"

	"github.com/tvmffi-go/tvmffi/reflection"
	"github.com/tvmffi-go/tvmffi/schema"
)

// answer does what the request asks for, in the child process. It tells what it is
// about to do, so that the parent knows it if the process dies.
func answer(ctx context.Context, request childRequest, tell func(doing string) error) (childReply, error) {
	if request.Call != nil {
		return call(request, tell)
	}
	libs := make([]reflection.Library, len(request.Libraries))
	names := make([]string, len(libs))
	for i, l := range request.Libraries {
		libs[i] = reflection.Library{Path: l.Path, Library: l.Identity}
		names[i] = l.Path
	}
	if err := tell("loading " + strings.Join(names, ", ")); err != nil {
		return childReply{}, err
	}
	s, err := reflection.Read(ctx, libs)
	if err != nil {
		return childReply{}, err
	}
	data, err := schema.Encode(s)
	return childReply{Schema: data}, err
}
