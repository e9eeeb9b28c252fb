// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"bytes"
	"errors"
	"io"
)

// Stream is what a stream holds, as far as it was read.
type Stream struct {
	Path     []string // of the tenant when it was exported
	Types    []string // the types of its records
	Version  int64    // of the database at which the export began
	Complete bool     // the stream has its end
	Progress          // Offset is the end of the last whole block

	*manifest
	position
	number int64
	sum    checksum
}

// Inspect reads a stream and checks each block, without a database. If the stream ends
// before its end, because the export was interrupted, Complete is false, and Offset
// says up to where it is good. Damage is a *[StreamError] with the number and the offset
// of the block; then the result tells of the blocks before it.
func Inspect(r io.Reader) (*Stream, error) {
	in := streamReader{r: r}
	m, err := in.start()
	if err != nil {
		return nil, err
	}
	s := newStream(m, &in)
	for !s.Complete {
		_, err := s.next(&in)
		if errors.Is(err, errTruncated) {
			return s, nil
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

func newStream(m *manifest, in *streamReader) *Stream {
	s := &Stream{Path: m.path, Version: m.version, manifest: m, number: in.number, sum: in.sum}
	s.Offset = in.offset
	for _, h := range m.stores {
		s.Types = append(s.Types, h.typ)
	}
	return s
}

// next reads and checks a block of pairs; nil for the end.
func (s *Stream) next(in *streamReader) (*block, error) {
	number, offset := in.number, in.offset
	kind, payload, _, err := in.next()
	if err != nil {
		return nil, err
	}
	b, err := s.accept(kind, payload)
	if err != nil {
		return nil, &StreamError{Block: number, Offset: offset, Reason: "it cannot be used", Err: err}
	}
	s.number, s.Offset = in.number, in.offset
	return b, nil
}

func (s *Stream) accept(kind byte, payload []byte) (*block, error) {
	switch kind {
	case kindPairs:
		b, err := decodeBlock(payload)
		if err == nil {
			err = b.check(s.manifest, s.position)
		}
		if err != nil {
			return nil, err
		}
		s.position = position{b.dir, b.last()}
		s.Blocks++
		s.Pairs += int64(len(b.pairs))
		s.Bytes += b.size()
		return b, nil
	case kindEnd:
		want, err := endPayload(s.Progress)
		if err != nil || !bytes.Equal(want, payload) {
			return nil, errors.New("it is the end, but does not agree with the blocks before it")
		}
		s.Complete = true
		return nil, nil
	}
	return nil, errors.New("it is of a kind that is not known")
}
