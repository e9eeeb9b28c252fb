// SPDX-License-Identifier: Apache-2.0

package idconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// request has the parameters that all types share, in both dialects.
type request struct {
	Key            *string `json:"key"`
	Name           *string `json:"name"`
	KeyTokenEnable bool    `json:"key_token_enable"`
	Force          bool    `json:"force"`
}

// isSpecified reports whether the request speaks the specification's dialect, in
// which key names the configuration.
func (r *request) isSpecified() bool { return r.Key != nil }

// Request is a configuration as a client sent it.
type Request struct {
	Config
	// Force accepts a change by which IDs may come twice.
	Force bool
	// CreateOnly says that an existing configuration is not changed, as in the deployed
	// worker's dialect.
	CreateOnly bool
	// Replaces is the version of the configuration that the request replaces, if it is still that; 0:
	// any, or none.
	Replaces int64
}

// Parse reads the body of a request, a JSON object in either dialect, for a
// configuration of a type. Now is the time for checks that depend on it. The error joins a
// [*ParamError] for each fault, in the order of the parameters.
func Parse(t Type, body []byte, now time.Time) (*Request, error) {
	switch t {
	case TypeIncrement:
		var r incrementRequest
		return finish(t, body, &r, &r.request, func(c *Config) (faults []error) {
			c.Increment, faults = r.toConfig()
			return faults
		})
	case TypeSnowflake:
		var r snowflakeRequest
		return finish(t, body, &r, &r.request, func(c *Config) (faults []error) {
			c.Snowflake, faults = r.toConfig(now)
			return faults
		})
	case TypeFormatted:
		var r formattedRequest
		return finish(t, body, &r, &r.request, func(c *Config) (faults []error) {
			c.Formatted, faults = r.toConfig()
			return faults
		})
	}
	return nil, fault("id_type", "%s is not a type; allowed are increment, snowflake and formatted", excerpt(string(t)))
}

// finish decodes the body into target, and returns the configuration.
func finish(t Type, body []byte, target any, r *request, parameters func(*Config) []error) (*Request, error) {
	from, err := read(body, target)
	if err != nil || len(from.faults) > len(from.types) || from.hidesDialect() {
		return nil, errors.Join(append(from.faults, err)...)
	}
	result := &Request{Config: Config{Type: t, KeyTokenOnly: r.KeyTokenEnable}, Force: r.Force}
	faults := append(result.setKey(r), parameters(&result.Config)...)
	if err := errors.Join(append(from.faults, from.withoutTypes(faults)...)...); err != nil {
		return nil, err
	}
	return result, nil
}

// setKey reads the key, which is the name in the deployed worker's dialect.
func (r *Request) setKey(from *request) []error {
	switch {
	case from.Key != nil:
		r.Key, r.Name = *from.Key, first("", from.Name)
		return []error{CheckKey("key", r.Key), checkName(r.Name)}
	case from.Name != nil:
		r.Key, r.CreateOnly = *from.Name, !from.Force
		return []error{CheckKey("name", r.Key)}
	}
	return []error{fault("key", "it is missing; allowed are 1 to %d bytes", MaxKey)}
}

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

// ErrKey says that the key is not well-formed. A [*ParamError] of a key wraps it.
var ErrKey = errors.New("invalid key format")

// ParamError is a fault of one parameter of a configuration.
type ParamError struct {
	Param  string // as the request names it
	Reason string // what is wrong, and what is allowed
	Err    error  // [ErrKey] or nil
}

// Error implements error.
func (e *ParamError) Error() string { return e.Param + ": " + e.Reason }

// Unwrap returns Err.
func (e *ParamError) Unwrap() error { return e.Err }

func fault(param, reason string, args ...any) error {
	return &ParamError{Param: param, Reason: fmt.Sprintf(reason, args...)}
}

// twice returns the fault of a parameter that is given in both dialects.
func twice(param, other string) error {
	return fault(param, "%s says the same; give one of the two", other)
}

// ChangeError says that IDs could repeat after a change of a configuration.
type ChangeError struct {
	Param  string
	Reason string
}

// Error implements error.
func (e *ChangeError) Error() string {
	return fmt.Sprintf("%s: %s; repeat the request with force=true to accept that IDs may come twice", e.Param, e.Reason)
}
