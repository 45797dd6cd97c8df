package golib

import "hash/fnv"

// The functions in this file show numbers of 64 bits without a sign.

// Basis is a number that hashes begin with.
type Basis uint64

// The bases of FNV-1a and of a sum.
const (
	BasisSum Basis = 0
	BasisFNV Basis = 14695981039346656037
)

// Started returns the hash of no text.
//
//tvmffi:export basis=BasisFNV
func Started(basis Basis) Basis { return basis }

// Hash returns the hash FNV-1a of a text, which begins with that of another.
//
//tvmffi:export before=14695981039346656037
func Hash(text string, before uint64) uint64 {
	for _, b := range []byte(text) {
		before = (before ^ uint64(b)) * 1099511628211
	}
	return before
}

// Hashes returns the hash of each text, with the texts that have it.
//
//tvmffi:export
func Hashes(texts ...string) map[uint64][]string {
	all := map[uint64][]string{}
	for _, text := range texts {
		h := fnv.New64a()
		h.Write([]byte(text))
		all[h.Sum64()] = append(all[h.Sum64()], text)
	}
	return all
}

// Mixed is a hash of several.
type Mixed struct {
	Hash  uint64  `ffi:"hash"`
	First *uint64 `ffi:"first"`
}

// Mix puts hashes together, each after the next one. It begins with a sum if there is one.
//
//tvmffi:export sum=nil
func Mix(hashes []uint64, next func(sum, hash uint64) uint64, sum *uint64) Mixed {
	var m Mixed
	if sum != nil {
		m.Hash = *sum
	}
	for i, h := range hashes {
		if i == 0 {
			m.First = &h
		}
		m.Hash = next(m.Hash, h)
	}
	return m
}

// Bucket has the texts of one hash.
//
//tvmffi:object
type Bucket struct {
	Hash  uint64   `ffi:"hash,default=14695981039346656037"`
	Limit *uint64  `ffi:"limit"`
	All   []uint64 `ffi:"all,optional"`
}

// Holds reports whether a hash belongs to the bucket, which has those up to the limit, too.
//
//tvmffi:method
func (b Bucket) Holds(hash uint64) bool { return hash == b.Hash || b.Limit != nil && hash <= *b.Limit }
