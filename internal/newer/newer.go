// SPDX-License-Identifier: Apache-2.0

// Package newer says of stored data that a newer version of this library wrote it, and
// which version to run. docs/decisions/033-newer-data.md has the rules, and
// what an older program does with the newer data of each format.
//
//	rest, err := newer.ReadFormat(value, rowFormat)
//	if err != nil {
//		return err // is [Err] if a newer version wrote the value
//	}
package newer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/tuple"
)

// Err is every error about data that a newer version wrote: by errors.Is, through any
// wrapping. Public packages show it as ErrNewer.
var Err = errors.New("a newer version of kazahana wrote this")

// Error is an [Err].
type Error struct {
	Reason string // what this program does not know
	Remedy string // which version to run
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%v: %s: %s", Err, e.Reason, e.Remedy) }

// Is reports whether target is [Err].
func (e *Error) Is(target error) bool { return target == Err }

func remedy(since string) string {
	if _, ok := parseVersion(since); !ok {
		return "run that version or a later one"
	}
	return "run version " + since + " or later"
}

// Format returns the error of a format that is after those that this program knows. since
// is the first version that knows it; empty if the data does not say.
func Format(found, known int64, since string) error {
	return &Error{fmt.Sprintf("it is of format %d, and this program knows formats up to %d", found, known), remedy(since)}
}

// Unknown returns the error of a word that only a newer version can have written.
func Unknown(word string) error { return &Error{word + " is not known", remedy("")} }

// ReadFormat reads the format of a packed tuple, its first element. In formats after the
// first, the second element is the version that the format needs, as text.
func ReadFormat(value []byte, known int64) (rest []byte, err error) {
	format, rest, err := tuple.ReadInt(value)
	switch {
	case err != nil:
		return nil, err
	case format < 1:
		return nil, fmt.Errorf("%d is not a format", format)
	case format <= known:
		return rest, nil
	}
	since, _, err := tuple.ReadString(rest)
	if err != nil {
		since = "" // the first such formats did not say it
	}
	return nil, Format(format, known, since)
}

// features are the features that data may need and this version knows. A version that adds to a
// format what older programs must not overlook, such as a word of the schema, adds a row, and
// writes the need with the data that uses it. No version has added one yet.
var features []Need

// Need is a feature that data needs of the programs that use the data: a line "needs NAME
// VERSION" of a text, a member "needs": ["NAME VERSION"] of a JSON object, a packed tuple of
// such texts. It is written only where the feature is used.
type Need struct {
	Name  string
	Since string // the first version that knows the feature, as v0.2.0
	// Read says that programs which do not know the feature may read the data if they pass
	// over what they do not know, and must not write it. As text it is a third word, "read".
	Read bool
}

// ParseNeed reads the words of a need.
func ParseNeed(words []string) (n Need, ok bool) {
	if len(words) < 2 || len(words) > 3 || len(words) == 3 && words[2] != "read" {
		return n, false
	}
	_, ok = parseVersion(words[1])
	return Need{words[0], words[1], len(words) == 3}, ok
}

// Text returns the words of the need.
func (n Need) Text() string {
	if n.Read {
		return n.Name + " " + n.Since + " read"
	}
	return strings.TrimSuffix(n.Name+" "+n.Since, " ")
}

// CheckRead returns an error that is [Err] if a program without the features that it does
// not know must not read the data; CheckWrite, if it must not write it.
func CheckRead(needs []Need) error { return check(needs, func(n Need) bool { return !n.Read }) }

// CheckWrite: see [CheckRead].
func CheckWrite(needs []Need) error { return check(needs, func(Need) bool { return true }) }

func check(needs []Need, matters func(Need) bool) error {
	var names []string
	since := ""
	for _, n := range needs {
		if !matters(n) || slices.ContainsFunc(features, func(f Need) bool { return f.Name == n.Name }) {
			continue
		}
		names = append(names, n.Name)
		if isLater(n.Since, since) {
			since = n.Since
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &Error{"it needs " + strings.Join(names, ", ") + ", which this program does not know", remedy(since)}
}

// parseVersion reads a version of this library.
func parseVersion(text string) (v [3]int, ok bool) {
	n, err := fmt.Sscanf(text, "v%d.%d.%d", &v[0], &v[1], &v[2])
	return v, err == nil && n == len(v) && v[0] >= 0 && v[1] >= 0 && v[2] >= 0
}

func isLater(a, b string) bool {
	x, _ := parseVersion(a)
	y, ok := parseVersion(b)
	return !ok || slices.Compare(x[:], y[:]) > 0
}

// Unmarshal is json.Unmarshal of a document that only this library writes. A member that
// into does not have is an [Err], because a newer version wrote it: a program that ignored
// it could do what the member forbids, and would lose it with the next write.
func Unmarshal(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	strict := d.Decode(into)
	if strict == nil && len(bytes.TrimSpace(data[d.InputOffset():])) == 0 {
		return nil
	}
	if err := CheckJSON(data); err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return err // damaged
	}
	member := strings.TrimPrefix(strict.Error(), "json: unknown field ")
	return &Error{"it has the member " + member + ", which this program does not know", remedy("")}
}

// CheckJSON returns an error that is [Err] if a JSON object needs a feature that this
// program does not know.
func CheckJSON(data []byte) error {
	var head struct {
		Needs []string `json:"needs"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil //nolint:nilerr // the caller's decoder says more
	}
	return CheckWrite(ParseNeeds(head.Needs))
}

// ReadTuple reads needs as a packed tuple of texts; nil has none.
func ReadTuple(value []byte) ([]Need, error) {
	var texts []string
	for rest := value; len(rest) > 0; {
		text, after, err := tuple.ReadString(rest)
		if err != nil {
			return nil, fmt.Errorf("%x is not a tuple of what is needed: %w", value, err)
		}
		texts, rest = append(texts, text), after
	}
	return ParseNeeds(texts), nil
}

// ParseNeeds reads needs as texts. One of another form, which a later version writes, is the
// name of a feature.
func ParseNeeds(texts []string) (needs []Need) {
	for _, text := range texts {
		n, ok := ParseNeed(strings.Fields(text))
		if !ok {
			n = Need{Name: text}
		}
		needs = append(needs, n)
	}
	return needs
}
