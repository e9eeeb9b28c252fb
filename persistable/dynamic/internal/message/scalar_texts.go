// SPDX-License-Identifier: Apache-2.0

package message

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/wire"
	"github.com/kazahana-db/kazahana/tuple"
)

var stringScalar = codec[string]{
	append: wire.AppendString, read: (*wire.Reader).String, key: index.AppendString[string], readKey: index.ReadString[string],
	text: func(v string) string { return v }, parse: parseString, isZero: isEqual(""),
}.scalar(wire.BytesType, jsonText, "a text of valid UTF-8")

var errNotUTF8 = errors.New("it is not valid UTF-8")

func parseString(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", errNotUTF8
	}
	return text, nil
}

var bytesScalar = codec[[]byte]{
	append: wire.AppendBytes, read: (*wire.Reader).Bytes, key: index.AppendBytes[[]byte], readKey: index.ReadBytes[[]byte],
	text: base64.StdEncoding.EncodeToString, parse: base64.StdEncoding.Strict().DecodeString,
	isZero: func(v []byte) bool { return len(v) == 0 }, zero: []byte{},
}.scalar(wire.BytesType, jsonText, "bytes in base64, as text")

// newArray returns the scalar of byte arrays of a length, nil if that is none. Sixteen
// bytes are a UUID.
func newArray(length string) *scalar {
	size, err := strconv.Atoi(length)
	switch {
	case err != nil || size < 1 || size > maxArray:
		return nil
	case size == 16:
		return uuidScalar
	}
	c := codec[string]{
		append: wire.AppendString, read: func(r *wire.Reader) string { return readArray(r, size) },
		key: func(b []byte, v string) []byte { return index.AppendBytes(b, []byte(v)) }, readKey: arrayReader(size),
		text: func(v string) string { return base64.StdEncoding.EncodeToString([]byte(v)) }, parse: arrayParser(size),
		zero: string(make([]byte, size)),
	}
	c.isZero = isEqual(c.zero)
	return c.scalar(wire.BytesType, jsonText, fmt.Sprintf("%d bytes in base64, as text", size))
}

// maxArray bounds the length of byte arrays, in bytes: a record cannot be longer.
const maxArray = 10_000_000

func readArray(r *wire.Reader, size int) string {
	b := r.Message()
	if r.Err() == nil && len(b) != size {
		r.Check(fmt.Errorf("%d bytes where %d belong", len(b), size))
	}
	return string(b)
}

func arrayReader(size int) func(b []byte) (string, []byte, error) {
	return func(b []byte) (string, []byte, error) {
		v, rest, err := index.ReadBytes[[]byte](b)
		if err == nil && len(v) != size {
			err = fmt.Errorf("%d bytes where %d belong", len(v), size)
		}
		return string(v), rest, err
	}
}

func arrayParser(size int) func(text string) (string, error) {
	return func(text string) (string, error) {
		v, err := base64.StdEncoding.Strict().DecodeString(text)
		if err == nil && len(v) != size {
			err = fmt.Errorf("%d bytes where %d belong", len(v), size)
		}
		return string(v), err
	}
}

var uuidScalar = codec[tuple.UUID]{
	append:  func(b []byte, v tuple.UUID) []byte { return wire.AppendBytes(b, v[:]) },
	read:    func(r *wire.Reader) (v tuple.UUID) { r.Array(v[:]); return v },
	key:     index.AppendUUID[tuple.UUID],
	readKey: index.ReadUUID[tuple.UUID],
	text:    tuple.UUID.String, parse: parseUUID, isZero: isEqual(tuple.UUID{}),
}.scalar(wire.BytesType, jsonText, "a UUID or a ULID, as text")

// parseUUID reads a UUID in its 36 characters, or a ULID in its 26: the schema of a store
// does not tell which of the two the program has.
func parseUUID(text string) (v tuple.UUID, err error) {
	if len(text) == ulid.EncodedSize {
		u, err := ulid.ParseStrict(text)
		return tuple.UUID(u), err
	}
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return v, strconv.ErrSyntax
	}
	_, err = hex.Decode(v[:], []byte(text[:8]+text[9:13]+text[14:18]+text[19:23]+text[24:]))
	return v, err
}

var durationScalar = codec[time.Duration]{
	append: wire.AppendDuration, read: (*wire.Reader).Duration, key: index.AppendInt[time.Duration], readKey: index.ReadInt[time.Duration],
	text: time.Duration.String, parse: time.ParseDuration, isZero: isEqual(time.Duration(0)),
}.scalar(wire.BytesType, jsonText, "a duration such as 1h30m or 250ms, as text")
