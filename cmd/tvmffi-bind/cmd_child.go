package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"
)

// childCommand is the hidden command of the process that loads libraries.
const childCommand = "read-child"

func newChild(t *tool) *cobra.Command {
	return &cobra.Command{
		Use:    childCommand + " PIPE",
		Short:  "Load libraries on behalf of another tvmffi-bind",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			fd, err := strconv.ParseUint(args[0], 10, 64)
			if err != nil {
				return errors.New("this command is not meant to be called by hand")
			}
			pipe := os.NewFile(uintptr(fd), "pipe")
			defer pipe.Close()
			out := json.NewEncoder(pipe)

			var request childRequest
			if err := json.NewDecoder(t.In).Decode(&request); err != nil {
				return err
			}
			reply, err := answer(cmd.Context(), request, func(doing string) error {
				return out.Encode(childReply{Doing: doing})
			})
			if err != nil {
				reply = childReply{Error: err.Error()}
			}
			if err := out.Encode(reply); err != nil {
				return fmt.Errorf("cannot answer: %w", err)
			}
			return nil
		},
	}
}
