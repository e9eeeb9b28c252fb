// SPDX-License-Identifier: Apache-2.0

package external

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
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
// takes any 64 bits; [Codec.Decode] refuses those that are no ID, zero and
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
// What it could not have written is a [*DecodeError]; tell a client no more than
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
	case id == 0 || uint64(id)>>(64-l.BitReserve) != 0:
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
