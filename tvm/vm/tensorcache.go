package vm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// cacheIndex is the index of a tensor cache, which tvm.contrib.tvmjs.dump_tensor_cache writes.
type cacheIndex struct {
	Metadata json.RawMessage `json:"metadata"` // of any form; that of MLC has the number of tensors
	Records  []struct {
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
			Begin  *int64  `json:"byteOffset"`
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
	seen := map[string]bool{}
	for _, file := range index.Records {
		if file.Format != "raw-shard" {
			return fmt.Errorf("shard %.200q: its format is %.50q, expected raw-shard", file.Path, file.Format)
		}
		if !filepath.IsLocal(file.Path) {
			return fmt.Errorf("shard %.200q: the path leads out of the folder", file.Path)
		}
		if seen[filepath.Clean(file.Path)] {
			return fmt.Errorf("shard %.200q: it is there twice: expected one record for each file", file.Path)
		}
		seen[filepath.Clean(file.Path)] = true
		if file.Records == nil {
			return fmt.Errorf("shard %.200q: it lists no tensors: expected a list with the name records", file.Path)
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
		var all []entry
		for i, r := range file.Records {
			if r.Name == "" {
				return fmt.Errorf("shard %.200q: record %d has no name: expected a text with the key name", file.Path, i)
			}
			if r.Begin == nil {
				return fmt.Errorf("shard %.200q: tensor %.200q: it has no byteOffset: expected where it begins in the file", file.Path, r.Name)
			}
			e := entry{name: r.Name, shape: r.Shape, begin: *r.Begin, size: r.Size}
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
			all = append(all, e)
		}
		if err := apart(all); err != nil {
			return annotate("shard "+file.Path, err)
		}
	}
	return w.count(index.Metadata)
}

// apart returns an error if two tensors of a file share bytes.
func apart(all []entry) error {
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.size, b.size)) })
	for i := 1; i < len(all); i++ {
		a, b := all[i-1], all[i]
		if end := a.begin + a.size; b.begin < end {
			return fmt.Errorf("tensor %.200q: it begins at byte %d, and %.200q ends at %d: expected bytes of its own", b.name, b.begin, a.name, end)
		}
	}
	return nil
}

// count compares the number of tensors with that of the metadata, if they have one: MLC writes it as ParamSize.
func (w *Weights) count(metadata []byte) error {
	var about map[string]json.RawMessage
	if json.Unmarshal(metadata, &about) != nil { // which may be of any form
		return nil
	}
	if size, has := about["ParamSize"]; has && string(size) != strconv.Itoa(len(w.names)) {
		return fmt.Errorf("its records have %d tensors, and ParamSize of its metadata is %.50s: copy the folder again", len(w.names), size)
	}
	return nil
}
