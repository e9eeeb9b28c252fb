// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is how a field is stored: a base, and what is around it.
type Kind struct {
	Wrap string // "", "*" (may be null), "[]", or "map[K]" with the base of the key
	Base string // a word of baseKinds, or of those that have an argument
	Arg  string // text(Arg), binary(Arg), message(Arg): the Go type; bytes[Arg]: the length
}

// BlobKind is the kind of a field that refers to a content which is stored beyond the record. It has
// nothing around it.
const BlobKind = "blob"

// baseKinds are the bases without an argument.
var baseKinds = []string{
	"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "id",
	"float", "double", "string", "bytes", "time", "duration", BlobKind,
}

// keyKinds are the kinds of the keys of maps.
var keyKinds = []string{"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "id", "string"}

// ParseKind reads the text of a kind.
func ParseKind(text string) (k Kind, ok bool) {
	base := text
	switch {
	case strings.HasPrefix(text, "*"), strings.HasPrefix(text, "[]"):
		base = strings.TrimPrefix(strings.TrimPrefix(text, "*"), "[]")
		k.Wrap = text[:len(text)-len(base)]
		if k.Wrap == "*[]" {
			return Kind{}, false
		}
	case strings.HasPrefix(text, "map["):
		key, elem, found := strings.Cut(text[len("map["):], "]")
		if !found || !slices.Contains(keyKinds, key) {
			return Kind{}, false
		}
		k.Wrap, base = "map["+key+"]", elem
	}
	k.Base, k.Arg, ok = cutBase(base)
	if !ok || k.Base == BlobKind && k.Wrap != "" {
		return Kind{}, false
	}
	return k, true
}

// cutBase cuts a base into its word and its argument.
func cutBase(text string) (base, arg string, ok bool) {
	if slices.Contains(baseKinds, text) {
		return text, "", true
	}
	if length, found := strings.CutPrefix(text, "bytes["); found {
		length, found = strings.CutSuffix(length, "]")
		n, err := strconv.ParseUint(length, 10, 63)
		return "bytes[]", length, found && err == nil && n > 0 && strconv.FormatUint(n, 10) == length
	}
	base, arg, found := strings.Cut(text, "(")
	arg, closed := strings.CutSuffix(arg, ")")
	return base, arg, found && closed && arg != "" && (base == "text" || base == "binary" || base == "message")
}

// String is the text of the kind.
func (k Kind) String() string {
	switch {
	case k.Base == "bytes[]":
		return k.Wrap + "bytes[" + k.Arg + "]"
	case k.Arg != "":
		return k.Wrap + k.Base + "(" + k.Arg + ")"
	}
	return k.Wrap + k.Base
}

// sameKind reports whether two kinds store values in one way. What a message is
// called does not matter: its fields are compared one by one.
func sameKind(a, b string) bool {
	if a == b {
		return true
	}
	x, ok1 := ParseKind(a)
	y, ok2 := ParseKind(b)
	return ok1 && ok2 && x.Wrap == y.Wrap && x.Base == y.Base && (x.Base == "message" || x.Arg == y.Arg)
}

// The table of changes: what becomes of stored values, and of programs that
// know only the kind of before. A change that is in no row is refused: its
// values could not be read, or would mean something else.
//
//	before       after        allowed where the field says was=before
//	intN         intM, M > N  yes; so for uint, and for elements and values of maps
//	T            *T           yes
//	*T           T            yes
//	string       text(X)      yes
//	text(X)      string       yes
//	text(X)      text(Y)      yes
//	bytes        binary(X)    yes
//	binary(X)    bytes        yes
//	binary(X)    binary(Y)    yes
//	message      message      always: its fields are compared
//	bytes[N]     bytes        no; nor are other lengths
//	anything     another      no
var consequences = map[[2]string]string{
	{"string", "text"}:   "a record whose stored text UnmarshalText refuses cannot be read, and ends every scan that comes to it",
	{"text", "string"}:   "programs that still have the former type cannot read a record with a text that its UnmarshalText refuses",
	{"text", "text"}:     "the text that the former type wrote is read by the new one: both must mean the same by it",
	{"bytes", "binary"}:  "the stored bytes are read by UnmarshalBinary: it must accept them, and mean the same by them",
	{"binary", "bytes"}:  "programs that still have the former type read what is written here by its UnmarshalBinary",
	{"binary", "binary"}: "the bytes that the former type wrote are read by the new one: both must mean the same by them",
}

// The consequences of the other rows.
const (
	widerInteger = "programs that still have the narrower type cannot read a record with a value beyond it: write such values when all are updated"
	mayBeNull    = "a zero was not stored, so it is read as nil; programs that still have the former type read nil as zero"
	notNull      = "a nil is read as zero, and saved as zero"
)

// Change tells whether a field of kind k may become one of kind now, and then
// what that has for consequences, none if they are stored in one way.
func (k Kind) Change(now Kind) (consequence []string, allowed bool) {
	switch {
	case k.Wrap == now.Wrap:
	case k.Wrap == "" && now.Wrap == "*":
		consequence = append(consequence, mayBeNull)
	case k.Wrap == "*" && now.Wrap == "":
		consequence = append(consequence, notNull)
	default:
		return nil, false
	}
	switch text, found := consequences[[2]string{k.Base, now.Base}]; {
	case k.Base == now.Base && (k.Arg == now.Arg || k.Base == "message"):
	case found:
		consequence = append(consequence, text)
	case isWider(k.Base, now.Base):
		consequence = append(consequence, widerInteger)
	default:
		return nil, false
	}
	return consequence, true
}

// isWider reports whether now is an integer of more bits.
func isWider(was, now string) bool {
	for _, prefix := range []string{"int", "uint"} {
		x, found1 := bitsOf(was, prefix)
		y, found2 := bitsOf(now, prefix)
		if found1 && found2 && x < y {
			return true
		}
	}
	return false
}

// bitsOf returns the number after "int" or "uint".
func bitsOf(base, prefix string) (bits int, found bool) {
	digits, found := strings.CutPrefix(base, prefix)
	bits, err := strconv.Atoi(digits)
	return bits, found && err == nil
}

// changeOf is Kind.Change of texts.
func changeOf(was, now string) (consequence []string, allowed bool) {
	a, ok1 := ParseKind(was)
	b, ok2 := ParseKind(now)
	if !ok1 || !ok2 {
		return nil, false
	}
	return a.Change(b)
}

// ParseDefault reads the default of a field of that kind: a bool, a string, an int64
// (for a duration, too: its nanoseconds), a uint64, or a float64. "" means no default: nil.
func ParseDefault(kind, text string) (any, error) {
	if text == "" {
		return nil, nil
	}
	k, ok := ParseKind(kind)
	if !ok || k.Wrap != "" {
		return nil, fmt.Errorf("a field of kind %s: %w", kind, errNoDefault)
	}
	value, err := parseLiteral(k.Base, text)
	var number *strconv.NumError
	if errors.As(err, &number) {
		err = number.Err
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a value of kind %s: %w", text, kind, err)
	}
	return value, nil
}

var errNoDefault = errors.New("only numbers, strings, bools and durations have defaults")

func parseLiteral(base, text string) (any, error) {
	switch base {
	case "bool":
		if text != "true" && text != "false" {
			return nil, strconv.ErrSyntax
		}
		return text == "true", nil
	case "string":
		return strconv.Unquote(text)
	case "duration":
		return strconv.ParseInt(text, 10, 64)
	case "float":
		return strconv.ParseFloat(text, 32)
	case "double":
		return strconv.ParseFloat(text, 64)
	}
	if bits, found := bitsOf(base, "int"); found {
		return strconv.ParseInt(text, 10, bits)
	}
	if bits, found := bitsOf(base, "uint"); found {
		return strconv.ParseUint(text, 10, bits)
	}
	return nil, errNoDefault
}
