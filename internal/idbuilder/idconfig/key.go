// SPDX-License-Identifier: Apache-2.0

package idconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// MaxKey is the length of the longest key, in bytes: that of the longest name in a store.
const MaxKey = 255

// maxPlain is the length of the longest key that the names of its counters' sequences contain, in
// bytes. It leaves room for the counter and its period.
const maxPlain = 200

// MaxName is the length of the longest name for people, in bytes.
const MaxName = 255

// CheckKey reports whether a text can be a key: 1 to [MaxKey] bytes of letters
// and digits of any script with their marks, the characters _ - . : / @ + and single spaces between
// them. Keys that begin or end with two underscores are reserved. Two keys are
// the same if their bytes are. The error is a [*ParamError] that wraps [ErrKey].
func CheckKey(param, key string) error {
	refuse := func(reason string, args ...any) error {
		return &ParamError{Param: param, Reason: fmt.Sprintf(reason, args...), Err: ErrKey}
	}
	switch {
	case key == "":
		return refuse("it is empty; allowed are 1 to %d bytes", MaxKey)
	case len(key) > MaxKey:
		return refuse("it has %d bytes; allowed are 1 to %d", len(key), MaxKey)
	case !utf8.ValidString(key):
		return refuse("%q is not UTF-8; allowed are letters, digits, and _ - . : / @ + and spaces", key)
	case strings.HasPrefix(key, "__") || strings.HasSuffix(key, "__"):
		return refuse("%q begins or ends with two underscores; such keys are reserved", key)
	case strings.HasPrefix(key, " ") || strings.HasSuffix(key, " ") || strings.Contains(key, "  "):
		return refuse("%q has a space at an end, or two in a row; allowed are single spaces between other characters", key)
	}
	for _, c := range key {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c) && !strings.ContainsRune("_-.:/@+ ", c) {
			return refuse("%q has the character %q; allowed are letters, digits, and _ - . : / @ + and spaces", key, c)
		}
	}
	return nil
}

// checkName returns an error if a text cannot be a name for people.
func checkName(name string) error {
	if len(name) > MaxName {
		return fault("name", "it has %d bytes; allowed are 0 to %d", len(name), MaxName)
	}
	if i := strings.IndexFunc(name, unicode.IsControl); i >= 0 {
		return fault("name", "it has a control character at byte %d; allowed are all others", i+1)
	}
	return nil
}

// SequenceName returns the name of the sequence from which a counter of a formatted key takes its numbers
// in a period. Counters are counted from 0, in the order of the format. The period is "" for a
// counter that does not begin anew. An increment key's sequence has the name of the key itself;
// no name is that of another key's sequence, since keys have no '#'. For a key of more than 200
// bytes the name has '#' and the SHA-256 of the key in its place, so that it fits into a store.
func SequenceName(key string, counter int, period string) string {
	if len(key) > maxPlain {
		sum := sha256.Sum256([]byte(key))
		key = "#" + hex.EncodeToString(sum[:])
	}
	name := key + "#" + strconv.Itoa(counter)
	if period != "" {
		name += ":" + period
	}
	return name
}

// CutPeriod returns the two parts of the name of a sequence that [SequenceName] has made with a
// period: the name without it, and the period. It reports false for other names.
func CutPeriod(name string) (counter, period string, ok bool) {
	mark := strings.LastIndexByte(name, '#') // keys have none, and may have colons
	if mark < 0 {
		return name, "", false
	}
	number, period, ok := strings.Cut(name[mark:], ":")
	return name[:mark] + number, period, ok
}

// SequenceReservation is a reservation of a sequence of a key.
type SequenceReservation struct {
	store.Reservation
	// Last is the last number of the sequence that the key can give as it is configured now. Formats that a key
	// had before may reach further: then it is before the bound.
	Last int64
}

// IsExhausted reports whether no number is left for the key after one.
func (r SequenceReservation) IsExhausted(after int64) bool {
	r.Count, r.Bound = 1, r.Last
	_, err := r.Advance(after)
	return err != nil
}

// Reservations returns a reservation of count numbers for each sequence of the key, by the sequence's
// name: the one sequence of an increment key, or those of the counters of a formatted key in some
// periods. They include the counters of formats that the key had before. A snowflake key has none. The
// error is that of a stored format that cannot be used, or of periods, which returns the names of the periods of
// a counter, "" for one that does not begin anew; sequence is the name of its sequences without the period.
func (c *Config) Reservations(count int64, periods func(sequence string, of format.Counter) ([]string, error)) (map[string]SequenceReservation, error) {
	all := map[string]SequenceReservation{}
	if c.Increment != nil {
		r := c.Increment.Reservation(count)
		all[c.Key] = SequenceReservation{r, r.Bound}
	}
	for _, parts := range c.allFormats() { // the present one comes last
		f, err := format.Compile(parts)
		if err != nil {
			return nil, err
		}
		for i, counter := range f.Counters() {
			names, err := periods(SequenceName(c.Key, i, ""), counter)
			if err != nil {
				return nil, err
			}
			for _, period := range names {
				name := SequenceName(c.Key, i, period)
				bound := max(counter.Max, all[name].Bound)
				all[name] = SequenceReservation{store.Reservation{Step: 1, Count: count, Bound: bound}, counter.Max}
			}
		}
	}
	return all, nil
}
