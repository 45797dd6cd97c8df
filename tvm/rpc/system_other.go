//go:build !linux

package rpc

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"time"
)

var errSystem = fmt.Errorf("package tvm/rpc does not support %s: it needs descriptors as Linux has them: %w",
	runtime.GOOS, errors.ErrUnsupported)

type socket struct{ peer net.Conn }

func takeSocket(conn *net.TCPConn) (*socket, error) {
	conn.Close()
	return nil, errSystem
}

func (s *socket) duplicate() (int, error)              { return -1, errSystem }
func (s *socket) file() (*os.File, error)              { return nil, errSystem }
func (s *socket) replace(int) error                    { return errSystem }
func (s *socket) abort()                               {}
func (s *socket) hungUp() bool                         { return true }
func (s *socket) lost() bool                           { return true }
func (s *socket) broken() bool                         { return true }
func (s *socket) close()                               {}
func newPair() (*socket, net.Conn, error)              { return nil, nil, errSystem }
func ofChild() *socket                                 { return &socket{} }
func findSocket(local, peer *net.TCPAddr) (int, error) { return -1, errSystem }
func (s *socket) hold()                                {}
func ownGroup(*exec.Cmd)                               {}
func endGroup(*exec.Cmd)                               {}
func makeFolder(string) error                          { return errSystem }
func sweep(string)                                     {}
func ignoreFileLimit()                                 {}
func threadID() int                                    { return 0 }
func silent(int, time.Duration) bool                   { return false }
