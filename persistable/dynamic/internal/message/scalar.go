// SPDX-License-Identifier: Apache-2.0

package message

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/tuple"
)

// scalar is how the single values of a kind other than a message are stored, stand in
// keys, and are shown.
type scalar struct {
	wire    wire.Type
	zero    any
	isZero  func(v any) bool
	append  func(b []byte, v any) []byte // as they are stored, after the tag
	read    func(r *wire.Reader) any
	key     func(b []byte, v any) []byte // as tuple elements
	readKey func(b []byte) (v any, rest []byte, err error)
	text    func(v any) string
	parse   func(text string) (any, error)
	json    jsonForm
	wanted  string // what parse takes, for errors
}

// jsonForm is what a value is in JSON.
type jsonForm int

const (
	jsonText    jsonForm = iota // a string
	jsonInteger                 // a number; a string is taken, too, for readers without 64-bit integers
	jsonFloat                   // a number, or a string for what is not finite
	jsonBool
	jsonName // the name of a constant, as a string; or, as jsonInteger, the number of a value without one
)

// codec is a scalar with the type of its values.
type codec[T any] struct {
	append  func(b []byte, v T) []byte
	read    func(r *wire.Reader) T
	key     func(b []byte, v T) []byte
	readKey func(b []byte) (T, []byte, error)
	text    func(v T) string
	parse   func(text string) (T, error)
	isZero  func(v T) bool
	zero    T
}

// scalar returns the codec without the type of its values.
func (c codec[T]) scalar(t wire.Type, form jsonForm, wanted string) *scalar {
	return &scalar{
		wire: t, zero: c.zero, json: form, wanted: wanted,
		isZero: func(v any) bool { return c.isZero(v.(T)) },
		append: func(b []byte, v any) []byte { return c.append(b, v.(T)) },
		read:   func(r *wire.Reader) any { return c.read(r) },
		key:    func(b []byte, v any) []byte { return c.key(b, v.(T)) },
		text:   func(v any) string { return c.text(v.(T)) },
		readKey: func(b []byte) (any, []byte, error) {
			v, rest, err := c.readKey(b)
			return v, rest, err
		},
		parse: func(text string) (any, error) {
			v, err := c.parse(text)
			return v, err
		},
	}
}

// isEqual returns a function that reports whether a value is zero.
func isEqual[T comparable](zero T) func(T) bool { return func(v T) bool { return v == zero } }

// newScalar returns the scalar of a kind, without what is around it; nil if this version
// does not know it, or it is a message.
func newScalar(k schema.Kind) *scalar {
	switch k.Base {
	case "bool":
		return boolScalar
	case "id":
		return idScalar
	case "float":
		return floatScalar
	case "double":
		return doubleScalar
	case "string", "text":
		return stringScalar
	case "bytes", "binary":
		return bytesScalar
	case "bytes[]":
		return newArray(k.Arg)
	case "time":
		return timeScalar
	case "duration":
		return durationScalar
	case schema.BlobKind:
		return blobScalar
	}
	return newInteger(k.Base)
}

// appendChecked is append for values that may be texts.
func (s *scalar) appendChecked(b []byte, v any) ([]byte, error) {
	if text, ok := v.(string); ok && s == stringScalar && !wire.ValidString(text) {
		return b, &Error{Reason: errNotUTF8.Error()}
	}
	return s.append(b, v), nil
}

// appendJSON appends a single value.
func (s *scalar) appendJSON(b []byte, v any) []byte {
	text := s.text(v)
	switch {
	case s.json == jsonText, s.json == jsonFloat && !isFinite(text), s.json == jsonName && !isInteger(text):
		return appendText(b, text)
	}
	return append(b, text...)
}

// isFinite reports whether the text of a float is a number of JSON.
func isFinite(text string) bool { return text != "NaN" && text[len(text)-1] != 'y' }

// appendText appends a string of JSON.
func appendText(b []byte, text string) []byte {
	if isPlain(text) {
		return append(append(append(b, '"'), text...), '"')
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(text) != nil { // it encodes every string
		return strconv.AppendQuote(b, text)
	}
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}

// isPlain reports whether a text needs no escape in JSON.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// textOf returns the text to parse of a token, if the scalar may be such a token.
func (s *scalar) textOf(token json.Token) (text string, ok bool) {
	switch v := token.(type) {
	case bool:
		return strconv.FormatBool(v), s.json == jsonBool
	case json.Number:
		return v.String(), s.json == jsonInteger || s.json == jsonName || s.json == jsonFloat || s == idScalar
	case string:
		return v, s.json != jsonBool
	}
	return "", false
}

var boolScalar = codec[bool]{
	append: wire.AppendBool, read: (*wire.Reader).Bool, key: tuple.AppendBool, readKey: tuple.ReadBool,
	text: strconv.FormatBool, parse: parseBool, isZero: isEqual(false),
}.scalar(wire.VarintType, jsonBool, "true or false")

func parseBool(text string) (bool, error) {
	if text != "true" && text != "false" {
		return false, strconv.ErrSyntax
	}
	return text == "true", nil
}

var idScalar = codec[int64]{
	append: func(b []byte, v int64) []byte { return wire.AppendFixed64(b, uint64(v)) },
	read:   func(r *wire.Reader) int64 { return int64(r.Fixed64()) },
	key:    tuple.AppendInt, readKey: tuple.ReadInt,
	text: formatInt, parse: intParser(64), isZero: isEqual(int64(0)),
}.scalar(wire.Fixed64Type, jsonText, "the decimal digits of an id, as text")

var floatScalar = codec[float32]{
	append: wire.AppendFloat32, read: (*wire.Reader).Float32, key: index.AppendFloat32, readKey: tuple.ReadFloat32,
	text: func(v float32) string { return formatFloat(float64(v), 32) },
	parse: func(text string) (float32, error) {
		v, err := strconv.ParseFloat(text, 32)
		return float32(v), err
	},
	isZero: func(v float32) bool { return math.Float32bits(v) == 0 },
}.scalar(wire.Fixed32Type, jsonFloat, `a number, "NaN", "Infinity" or "-Infinity"`)

var doubleScalar = codec[float64]{
	append: wire.AppendFloat64, read: (*wire.Reader).Float64, key: index.AppendFloat64, readKey: tuple.ReadFloat64,
	text:   func(v float64) string { return formatFloat(v, 64) },
	parse:  func(text string) (float64, error) { return strconv.ParseFloat(text, 64) },
	isZero: func(v float64) bool { return math.Float64bits(v) == 0 },
}.scalar(wire.Fixed64Type, jsonFloat, `a number, "NaN", "Infinity" or "-Infinity"`)

// formatFloat returns the shortest text of a float that is the same one when it is read
// again, as a number of JSON if it is finite.
func formatFloat(v float64, bits int) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 0):
		return strings.TrimPrefix(strconv.FormatFloat(v, 'f', -1, bits)+"inity", "+")
	}
	if size := math.Abs(v); size != 0 && (size < 1e-6 || size >= 1e21) {
		return strconv.FormatFloat(v, 'e', -1, bits)
	}
	return strconv.FormatFloat(v, 'f', -1, bits)
}

func formatInt(v int64) string { return strconv.FormatInt(v, 10) }

func formatUint(v uint64) string { return strconv.FormatUint(v, 10) }

func intParser(bits int) func(string) (int64, error) {
	return func(text string) (int64, error) { return strconv.ParseInt(text, 10, bits) }
}

// newInteger returns the scalar of an integer of a given width, such as int32; nil if
// base is none.
func newInteger(base string) *scalar {
	word := strings.TrimRight(base, "0123456789")
	bits, err := strconv.Atoi(base[len(word):])
	switch {
	case err != nil || bits < 8 || bits > 64:
		return nil
	case word == "int":
		return newSigned(bits)
	case word == "uint":
		return newUnsigned(bits)
	}
	return nil
}

func newSigned(bits int) *scalar {
	least := int64(math.MinInt64) >> (64 - bits)
	return codec[int64]{
		append: wire.AppendZigzag, read: func(r *wire.Reader) int64 { return r.Int(bits) },
		key: tuple.AppendInt, readKey: tuple.ReadInt,
		text: formatInt, parse: intParser(bits), isZero: isEqual(int64(0)),
	}.scalar(wire.VarintType, jsonInteger, fmt.Sprintf("an integer from %d to %d", least, -(least+1)))
}

func newUnsigned(bits int) *scalar {
	return codec[uint64]{
		append: wire.AppendVarint, read: func(r *wire.Reader) uint64 { return r.Uint(bits) },
		key: tuple.AppendUint, readKey: tuple.ReadUint,
		text: formatUint, parse: func(text string) (uint64, error) { return strconv.ParseUint(text, 10, bits) }, isZero: isEqual(uint64(0)),
	}.scalar(wire.VarintType, jsonInteger, fmt.Sprintf("an integer from 0 to %d", uint64(math.MaxUint64)>>(64-bits)))
}

var stringScalar = codec[string]{
	append: wire.AppendString, read: (*wire.Reader).String, key: tuple.AppendString, readKey: tuple.ReadString,
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
	append: wire.AppendBytes, read: (*wire.Reader).Bytes, key: tuple.AppendBytes, readKey: tuple.ReadBytes,
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
		key: func(b []byte, v string) []byte { return tuple.AppendBytes(b, []byte(v)) }, readKey: arrayReader(size),
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
		v, rest, err := tuple.ReadBytes(b)
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
	key:     tuple.AppendUUID,
	readKey: tuple.ReadUUID,
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
	append: wire.AppendDuration, read: (*wire.Reader).Duration,
	key: func(b []byte, v time.Duration) []byte { return tuple.AppendInt(b, int64(v)) },
	readKey: func(b []byte) (time.Duration, []byte, error) {
		v, rest, err := tuple.ReadInt(b)
		return time.Duration(v), rest, err
	},
	text: time.Duration.String, parse: time.ParseDuration, isZero: isEqual(time.Duration(0)),
}.scalar(wire.BytesType, jsonText, "a duration such as 1h30m or 250ms, as text")

var timeScalar = codec[time.Time]{
	append: wire.AppendTimestamp, read: (*wire.Reader).Timestamp, key: index.AppendTime, readKey: index.ReadTime,
	text: formatTime, parse: parseTime, isZero: time.Time.IsZero,
}.scalar(wire.BytesType, jsonText, "a time such as 2026-01-31T12:00:00.5Z, as text")

// formatTime returns a time as RFC 3339 says, and a year that has no four digits as
// "@", the seconds since 1970 and nine digits of nanoseconds.
func formatTime(v time.Time) string {
	v = v.UTC()
	if year := v.Year(); year < 0 || year > 9999 {
		return fmt.Sprintf("@%d.%09d", v.Unix(), v.Nanosecond())
	}
	return v.Format(time.RFC3339Nano)
}

// parseTime reads what formatTime returns, in any time zone.
func parseTime(text string) (time.Time, error) {
	if seconds, found := strings.CutPrefix(text, "@"); found {
		return parseSeconds(seconds)
	}
	v, err := time.Parse(time.RFC3339Nano, text)
	return v.UTC(), err
}

func parseSeconds(text string) (time.Time, error) {
	whole, digits, _ := strings.Cut(text, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || len(digits) > 9 {
		return time.Time{}, strconv.ErrSyntax
	}
	nanos, err := strconv.ParseUint(digits+strings.Repeat("0", 9-len(digits)), 10, 32)
	return time.Unix(seconds, int64(nanos)).UTC(), err
}

var blobScalar = codec[format.Blob]{
	append: func(b []byte, v format.Blob) []byte { return wire.AppendBytes(b, v.Append(nil)) },
	read: func(r *wire.Reader) format.Blob {
		v, err := format.ParseBlob(r.Message())
		r.Check(err)
		return v
	},
	key: func(b []byte, v format.Blob) []byte { return tuple.AppendBytes(b, v.Append(nil)) },
	readKey: func(b []byte) (v format.Blob, rest []byte, err error) {
		stored, rest, err := tuple.ReadBytes(b)
		if err == nil {
			v, err = format.ParseBlob(stored)
		}
		return v, rest, err
	},
	text: format.Blob.String, parse: format.ParseBlobText, isZero: isEqual(format.Blob{}),
}.scalar(wire.BytesType, jsonText, "the text of a blob of this record, ID-SIZE-SHA256, or nothing; the content is not in JSON")
