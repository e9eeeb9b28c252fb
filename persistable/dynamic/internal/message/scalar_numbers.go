// SPDX-License-Identifier: Apache-2.0

package message

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/wire"
)

var boolScalar = codec[bool]{
	append: wire.AppendBool, read: (*wire.Reader).Bool, key: index.AppendBool[bool], readKey: index.ReadBool[bool],
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
	key:    index.AppendInt[int64], readKey: index.ReadInt[int64],
	text: formatInt, parse: intParser(64), isZero: isEqual(int64(0)),
}.scalar(wire.Fixed64Type, jsonText, "the decimal digits of an id, as text")

var floatScalar = codec[float32]{
	append: wire.AppendFloat32, read: (*wire.Reader).Float32, key: index.AppendFloat32[float32], readKey: index.ReadFloat32[float32],
	text: func(v float32) string { return formatFloat(float64(v), 32) },
	parse: func(text string) (float32, error) {
		v, err := strconv.ParseFloat(text, 32)
		return float32(v), err
	},
	isZero: func(v float32) bool { return math.Float32bits(v) == 0 },
}.scalar(wire.Fixed32Type, jsonFloat, `a number, "NaN", "Infinity" or "-Infinity"`)

var doubleScalar = codec[float64]{
	append: wire.AppendFloat64, read: (*wire.Reader).Float64, key: index.AppendFloat64[float64], readKey: index.ReadFloat64[float64],
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

func formatInt(v int64) string   { return strconv.FormatInt(v, 10) }
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
		key: index.AppendInt[int64], readKey: index.ReadInt[int64],
		text: formatInt, parse: intParser(bits), isZero: isEqual(int64(0)),
	}.scalar(wire.VarintType, jsonInteger, fmt.Sprintf("an integer from %d to %d", least, -(least+1)))
}

func newUnsigned(bits int) *scalar {
	return codec[uint64]{
		append: wire.AppendVarint, read: func(r *wire.Reader) uint64 { return r.Uint(bits) },
		key: index.AppendUint[uint64], readKey: index.ReadUint[uint64],
		text: formatUint, parse: func(text string) (uint64, error) { return strconv.ParseUint(text, 10, bits) }, isZero: isEqual(uint64(0)),
	}.scalar(wire.VarintType, jsonInteger, fmt.Sprintf("an integer from 0 to %d", uint64(math.MaxUint64)>>(64-bits)))
}
