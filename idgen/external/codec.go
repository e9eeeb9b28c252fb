// SPDX-License-Identifier: Apache-2.0

package external

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kazahana-db/kazahana/idgen"
)

// Codec turns IDs into their external form and back. Make one with [New]. It
// never changes and is safe for concurrent use.
type Codec struct {
	opts    Options
	current uint64                // version that Encode uses
	perms   [versions]permutation // by version; nil where there is no key
}

// permutation maps 64 bits to 64 bits, each value to one of its own.
type permutation interface {
	forward(v uint64) uint64
	backward(v uint64) uint64
}

// New returns a codec. A [Keyed] one has the subkeys of the type ""; see
// [Codec.For]. The error reports all faults of the options.
func New(opts Options) (*Codec, error) {
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("external: new codec: %w", err)
	}
	opts = opts.withDefaults()
	keys := make(map[int][]byte, len(opts.Keys))
	for version, key := range opts.Keys {
		keys[version] = bytes.Clone(key)
	}
	opts.Keys = keys
	return (&Codec{opts: opts}).For(""), nil
}

// For returns the codec of a type of records: a keyed one has subkeys of the
// type, so that one text means different IDs for different types. Choose names
// that stay; "order", say. Call it once for each type, at the start of the
// program: it costs some microseconds. Without a key types make no difference.
func (c *Codec) For(typ string) *Codec {
	of := &Codec{opts: c.opts}
	switch c.opts.Mode {
	case Plain:
		of.perms[0] = plain{}
	case Keyed:
		of.current = uint64(c.opts.Current)
		for version, master := range c.opts.Keys {
			of.perms[version] = c.opts.Cipher.schedule(subkey(master, c.opts.Cipher, typ))
		}
	default:
		of.perms[0] = scramble{}
	}
	return of
}

// subkey derives the key of a cipher and type by HKDF (RFC 5869) with SHA-256
// and no salt. The cipher's name has no slash, so no two pairs share an info.
func subkey(master []byte, cipher Cipher, typ string) [16]byte {
	key, err := hkdf.Key(sha256.New, master, nil, "kazahana external id/"+cipher.String()+"/"+typ, 16)
	if err != nil {
		panic(err) // it refuses lengths only, ones that Validate does not let through
	}
	return [16]byte(key)
}

// Encode returns the external form of an ID: 11 characters of base64url. It
// takes any 64 bits; [Codec.Decode] refuses those that are not an ID: zero and
// negative ones.
func (c *Codec) Encode(id idgen.ID) string {
	text := c.encode(id)
	return string(text[:])
}

// AppendEncode appends what [Codec.Encode] returns. It does not allocate where b
// has room.
func (c *Codec) AppendEncode(b []byte, id idgen.ID) []byte {
	text := c.encode(id)
	return append(b, text[:]...)
}

func (c *Codec) encode(id idgen.ID) [Len]byte {
	return spell(c.perms[c.current].forward(uint64(id)), c.current)
}

// Decode returns the ID that [Codec.Encode] was given, with any of the keys.
// The error for what it could not have written wraps [idgen.ErrInvalid] and the reason:
// [ErrSpelling], [ErrKeyVersion], [ErrNoID] or [ErrFuture]. Tell a client no more than
// that there is no such record.
func (c *Codec) Decode(text string) (idgen.ID, error) { return decode(c, text) }

// DecodeBytes is [Codec.Decode] of a byte slice. It does not allocate but for
// errors.
func (c *Codec) DecodeBytes(text []byte) (idgen.ID, error) { return decode(c, text) }

func decode[T string | []byte](c *Codec, text T) (idgen.ID, error) {
	block, version, err := read(text)
	if err != nil {
		return 0, fail(text, err, "")
	}
	perm := c.perms[version]
	switch {
	case perm == nil && c.opts.Mode == Keyed:
		return 0, fail(text, ErrKeyVersion, fmt.Sprintf("version %d", version))
	case perm == nil:
		return 0, fail(text, ErrSpelling, "its last two bits must be zero without a key")
	}
	id := idgen.ID(perm.backward(block))
	if err := c.check(id); err != nil {
		return 0, fail(text, err, "")
	}
	return id, nil
}

// check returns why no generator would have made the ID, or nil.
func (c *Codec) check(id idgen.ID) error {
	l := c.opts.Layout
	switch {
	case id == 0 || uint64(id)>>(64-l.ReserveBits) != 0:
		return ErrNoID
	case c.opts.MaxAhead > 0 && l.Time(id).After(c.opts.Now().Add(c.opts.MaxAhead)):
		return ErrFuture
	}
	return nil
}

// Format implements [fmt.Formatter]: it prints how the codec hides IDs, and not
// with which keys.
func (c Codec) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "external.Codec{%v", c.opts.Mode)
	if c.opts.Mode == Keyed {
		fmt.Fprintf(f, " %v, keys %v", c.opts.Cipher, slices.Sorted(maps.Keys(c.opts.Keys)))
	}
	fmt.Fprint(f, "}")
}

// ID is an ID that is external in JSON and other text: a field of what an API
// sends and receives. K says by which codec: its method Codec is called on the zero value
// of K, so an empty struct will do.
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
type ID[K interface{ Codec() *Codec }] idgen.ID

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

func codecOf[K interface{ Codec() *Codec }]() (*Codec, error) {
	var kind K
	if codec := kind.Codec(); codec != nil {
		return codec, nil
	}
	return nil, fmt.Errorf("external: %T has no codec; set it up before the first ID is read or written", kind)
}

// Len is the length of an external ID: 64 bits take eleven characters of six,
// which leaves two bits for the version of the key.
const Len = 11

const versionBits = 2

// alphabet is base64url's, RFC 4648 section 5.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// values is the inverse of alphabet; 0xff for every other byte.
var values = func() (v [256]byte) {
	for i := range v {
		v[i] = 0xff
	}
	for i := range len(alphabet) {
		v[alphabet[i]] = byte(i)
	}
	return v
}()

// spell writes a block, most significant bits first, and a version in the bits
// that are left. With version 0 that is base64url without padding of the eight
// bytes.
func spell(block, version uint64) (text [Len]byte) {
	last := block<<versionBits | version
	for i := Len - 1; i > 0; i-- {
		text[i] = alphabet[last&63]
		last >>= 6
	}
	text[0] = alphabet[block>>58]
	return text
}

// read is the inverse of spell: every text that is not an error comes from one
// block and version only.
func read[T string | []byte](text T) (block, version uint64, err error) {
	if len(text) != Len {
		return 0, 0, fmt.Errorf("%w: it has %d bytes", ErrSpelling, len(text))
	}
	var last uint64
	for i := range Len {
		if last = uint64(values[text[i]]); last == 0xff {
			return 0, 0, fmt.Errorf("%w: byte %d is %q", ErrSpelling, i, text[i])
		}
		if i < Len-1 {
			block = block<<6 | last
		}
	}
	return block<<(6-versionBits) | last>>versionBits, last & (versions - 1), nil
}

// ParseKey reads a master key as key files hold it, those of the command
// kazahana among them: in hexadecimal, 16 bytes or more, white space around it
// ignored. "openssl rand -hex 32" makes one. The error does not quote the key.
func ParseKey(text []byte) ([]byte, error) {
	text = bytes.TrimSpace(text)
	key := make([]byte, hex.DecodedLen(len(text)))
	if _, err := hex.Decode(key, text); err != nil {
		return nil, errors.New("external: the key is not written in pairs of hexadecimal digits; make one with: openssl rand -hex 32")
	}
	if len(key) < minKeyLen {
		return nil, fmt.Errorf("external: the key has %d bytes; it needs %d or more", len(key), minKeyLen)
	}
	return key, nil
}
