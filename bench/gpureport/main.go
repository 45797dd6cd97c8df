// Command report prints the driver and the devices of this machine as JSON. With -libraries it only loads libtvm_ffi,
// to show that the C and C++ libraries of the machine will do. gpurun calls it. Usage: report LIBTVM_FFI [-libraries]
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/tvmffi-go/tvmffi/bench/gpupack"
	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 || len(args) > 2 {
		return errors.New("usage: report LIBTVM_FFI [-libraries]")
	}
	if err := tvmffi.Load(tvmffi.WithLibrary(args[0])); err != nil || len(args) == 2 {
		return err
	}
	var r gpupack.Report
	var err error
	if r.CUDA, err = cuda.DriverVersion(); err != nil {
		return err
	}
	if r.Driver, err = cuda.DriverPath(); err != nil {
		return err
	}
	h, err := dynlib.Open(r.Driver)
	if err != nil {
		return err
	}
	// Each driver of testdata/fakecuda has one of these, no other has.
	for _, symbol := range []string{"fakecuda_log", "fakecuda_noop"} {
		if _, err := h.Symbol(symbol); err == nil {
			r.Fake = true
		}
	}
	n, err := cuda.DeviceCount()
	if err != nil {
		return err
	}
	for d := range cuda.Device(n) {
		p, err := d.Properties()
		if err != nil {
			return err
		}
		r.Devices = append(r.Devices, gpupack.ReportDevice{Name: p.Name, Arch: cuda.Arch{Major: p.Major, Minor: p.Minor}.String(),
			UUID: p.UUID, PCIBusID: p.PCIBusID, Memory: p.TotalMemory, Multiprocessors: p.Multiprocessors})
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}
