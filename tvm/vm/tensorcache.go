package vm

import (
	"fmt"
	"path/filepath"

	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// cacheIndex is the index of a tensor cache, which tvm.contrib.tvmjs.dump_tensor_cache writes.
type cacheIndex struct {
	Records []struct {
		Path    string `json:"dataPath"`
		Format  string `json:"format"`
		Size    int64  `json:"nbytes"`
		Sum     string `json:"md5sum"`
		Records []struct {
			Name   string  `json:"name"`
			Shape  []int64 `json:"shape"`
			Type   string  `json:"dtype"`
			Format string  `json:"format"`
			Size   int64   `json:"nbytes"`
			Begin  int64   `json:"byteOffset"`
		} `json:"records"`
	} `json:"records"`
}

// tensorCache loads the tensors of a tensor cache, whose index has a text.
func (w *Weights) tensorCache(text []byte) error {
	var index cacheIndex
	if err := jsonlines.Unmarshal(text, &index); err != nil {
		return err
	}
	if len(index.Records) == 0 {
		return fmt.Errorf("it lists no shards: expected a list with the name records")
	}
	for _, file := range index.Records {
		if file.Format != "raw-shard" {
			return fmt.Errorf("shard %.200q: its format is %.50q, expected raw-shard", file.Path, file.Format)
		}
		if !filepath.IsLocal(file.Path) {
			return fmt.Errorf("shard %.200q: the path leads out of the folder", file.Path)
		}
		m, err := mapFile(filepath.Join(w.path, file.Path))
		if err != nil {
			return err
		}
		if int64(len(m.bytes)) != file.Size {
			return fmt.Errorf("shard %s: it has %d bytes, and the index says %d: copy the folder again", file.Path, len(m.bytes), file.Size)
		}
		if file.Sum != "" {
			w.shards = append(w.shards, shard{file.Path, file.Sum, m})
		}
		for _, r := range file.Records {
			e := entry{name: r.Name, shape: r.Shape, begin: r.Begin, size: r.Size}
			if e.dtype, err = tvmffi.ParseDataType(r.Type); err != nil {
				return fmt.Errorf("tensor %.200q: %w", r.Name, err)
			}
			if r.Shape == nil {
				return fmt.Errorf("tensor %.200q: it has no shape", r.Name)
			}
			switch r.Format {
			case "raw":
			case "f32-to-bf16": // which applies to tensors of float32 alone
				e.widen = e.dtype == tvmffi.Float32
			default:
				return fmt.Errorf("tensor %.200q: its format is %.50q, expected raw or f32-to-bf16", r.Name, r.Format)
			}
			if err := w.add(m, &e); err != nil {
				return annotate("shard "+file.Path, err)
			}
		}
	}
	return nil
}
