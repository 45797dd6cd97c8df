package disco_test

import (
	"context"
	"fmt"
	"log"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/disco"
)

// Four processes of this program square a number, each for itself.
func ExampleProcesses() {
	disco.Main(func() error { // first in main: a worker is this program, too
		return tvmffi.Register("demo.square", func(x int64) int64 { return x * x })
	})
	ctx := context.Background()
	s, err := disco.Processes(ctx, 4, disco.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	squares, err := s.Call(s.Function("demo.square"), 7) // on all workers; it does not wait
	if err != nil {
		log.Fatal(err)
	}
	of, err := squares.Get(ctx, 3) // from worker 3; an error of the function comes here
	if err != nil {
		log.Fatal(err)
	}
	n, err := tvmffi.As[int64](of)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n)
}

// The sum of what each worker has, on all workers.
func ExampleSession_Allreduce() {
	disco.Main(nil)
	ctx := context.Background()
	s, err := disco.Threads(ctx, 2, disco.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	ones, err := tvmffi.FromSlice([]float32{1, 1, 1}, 3)
	if err != nil {
		log.Fatal(err)
	}
	each, err := s.Broadcast(ones)
	if err != nil {
		log.Fatal(err)
	}
	sum, err := s.Empty(tvmffi.Float32, 3)
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Allreduce(each, sum, disco.Sum, false); err != nil {
		log.Fatal(err)
	}
	if err := s.CopyFromWorker0(ctx, ones, sum); err != nil { // it waits
		log.Fatal(err)
	}
}
