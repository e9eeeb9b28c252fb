// SPDX-License-Identifier: Apache-2.0

package external

import (
	"fmt"

	"github.com/kazahana-db/kazahana/idgen"
)

// Kind says with which codec an [ID] is written. Its Codec method is called on
// the zero value of the type, so an empty struct will do.
type Kind interface {
	Codec() *Codec
}

// ID is an ID that is external in JSON and other text: a field of what an API
// sends and receives. K says by which codec.
//
//	type orderIDs struct{}
//
//	func (orderIDs) Codec() *external.Codec { return orderCodec } // set up by main
//
//	type OrderView struct {
//		ID external.ID[orderIDs] `json:"id"`
//	}
//
// Convert from and to the ID itself: external.ID[orderIDs](o.ID), and
// idgen.ID(view.ID). A zero ID is an error in text; use omitzero where there may be none.
type ID[K Kind] idgen.ID

// String returns the external form, or "external: none" for a zero or negative ID.
func (id ID[K]) String() string {
	text, err := id.AppendText(nil)
	if err != nil {
		return "external: none"
	}
	return string(text)
}

// IsZero reports whether the ID is zero, which stands for "none yet".
func (id ID[K]) IsZero() bool { return id == 0 }

// AppendText appends the external form. It implements [encoding.TextAppender]
// and does not allocate where b has room. A zero or negative ID wraps
// [idgen.ErrInvalid].
func (id ID[K]) AppendText(b []byte) ([]byte, error) {
	codec, err := codecOf[K]()
	if err != nil {
		return b, err
	}
	if id <= 0 {
		return b, fmt.Errorf("%w %d: it has no external form", idgen.ErrInvalid, int64(id))
	}
	return codec.AppendEncode(b, idgen.ID(id)), nil
}

// MarshalText returns the external form; see [ID.AppendText].
func (id ID[K]) MarshalText() ([]byte, error) { return id.AppendText(make([]byte, 0, Len)) }

// UnmarshalText reads the external form; see [Codec.Decode]. On error *id is
// unchanged.
func (id *ID[K]) UnmarshalText(text []byte) error {
	codec, err := codecOf[K]()
	if err != nil {
		return err
	}
	v, err := codec.DecodeBytes(text)
	if err != nil {
		return err
	}
	*id = ID[K](v)
	return nil
}

func codecOf[K Kind]() (*Codec, error) {
	var kind K
	if codec := kind.Codec(); codec != nil {
		return codec, nil
	}
	return nil, fmt.Errorf("external: %T has no codec; set it up before the first ID is read or written", kind)
}
