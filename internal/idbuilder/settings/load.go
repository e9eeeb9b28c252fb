// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Sources are where settings come from. Each of them outranks those before it.
type Sources struct {
	// File is the path of a file in TOML; "" for none.
	File string
	// Environment has variables as os.Environ returns them. Those that begin with
	// IDBUILDER__ or IDBUILDER_WORKER__ are settings: IDBUILDER__SERVER__PORT is
	// server.port.
	Environment []string
	// Flags has texts by the paths of keys.
	Flags map[string]string
}

// Load returns the settings of the sources, validated. A key that no source sets has its
// default. The error is an [*Error], or says that the file cannot be read.
func Load(from Sources) (*Settings, error) {
	file, err := readFile(from.File)
	if err != nil {
		return nil, err
	}
	l := &loader{settings: Default()}
	for _, assignments := range [][]assignment{file.assignments(), environment(from.Environment), flags(from.Flags)} {
		l.applyAll(assignments)
	}
	l.faults = append(l.faults, l.settings.findFaults(l.bad)...)
	if err := asError(l.faults); err != nil {
		return nil, err
	}
	return l.settings, nil
}

// Default returns the settings of a program that is not configured.
func Default() *Settings {
	s := &Settings{origins: map[string]string{}}
	for i := range keys {
		k := &keys[i]
		if k.field == nil || k.standard == "" {
			continue
		}
		value, err := k.kind.parseValue(words(k.standard))
		if err != nil {
			panic(fmt.Sprintf("the default of %s: %v", k.path, err))
		}
		k.setField(s, value)
	}
	return s
}

// assignment is a key, and the value that a source gives it.
type assignment struct {
	path   string                   // of a key, if there is such a key
	raw    any                      // words, or a value of TOML
	origin string                   // file:line, or the name of the variable or flag
	spell  func(path string) string // returns a key as the source writes it
	refuse string                   // why the source must not set it; "" if it may
}

// loader applies assignments.
type loader struct {
	settings *Settings
	faults   []Fault
	bad      map[string]bool // keys with a value that could not be parsed
}

// applyAll applies the assignments of one source.
func (l *loader) applyAll(assignments []assignment) {
	before := map[*key]keyValue{}
	for _, a := range assignments {
		k := known[a.path]
		if k == nil {
			l.faults = append(l.faults, a.unknownKeyFault())
			continue
		}
		value, err := l.parseValue(k, a)
		if err != nil {
			continue
		}
		if earlier, ok := before[k]; ok && !reflect.DeepEqual(earlier.value, value) {
			l.faults = append(l.faults, a.contradictionFault(k, value, earlier))
			continue
		}
		before[k] = keyValue{a, value}
		l.setValue(k, value, a.origin)
	}
}

// keyValue is an assignment with its parsed value.
type keyValue struct {
	assignment
	value any
}

// parseValue returns the value of an assignment, or notes what is wrong with it.
func (l *loader) parseValue(k *key, a assignment) (any, error) {
	value, err := k.kind.parseValue(a.raw)
	if a.refuse != "" && (err != nil || hasPassword(value)) {
		err = errors.New(a.refuse)
	}
	if err != nil {
		if l.bad == nil {
			l.bad = map[string]bool{}
		}
		l.bad[k.path] = true
		l.faults = append(l.faults, Fault{Key: a.path, Value: show(k, a.raw), Origin: a.origin, Reason: err.Error()})
	}
	return value, err
}

func (l *loader) setValue(k *key, value any, origin string) {
	if none, ok := k.kind.(ignoredKey); ok {
		l.settings.notes = append(l.settings.notes, fmt.Sprintf("%s (%s) has no effect: %s", k.path, origin, none.reason))
		return
	}
	k.setField(l.settings, value)
	l.settings.origins[k.path] = origin
}

// unknownKeyFault reports a key that does not exist.
func (a assignment) unknownKeyFault() Fault {
	return Fault{Key: a.spell(a.path), Origin: a.origin, Reason: "there is no such key; did you mean " + a.spell(nearestTo(a.path)) + "?"}
}

// contradictionFault reports two names of one key with different values.
func (a assignment) contradictionFault(k *key, value any, earlier keyValue) Fault {
	return Fault{Key: a.path, Value: show(k, value), Origin: a.origin, Reason: fmt.Sprintf(
		"%s = %s (%s) is the same setting with another value; remove one of them", earlier.path, show(k, earlier.value), earlier.origin)}
}

// flags returns the assignments of flags, in the order of their names.
func flags(given map[string]string) (list []assignment) {
	spell := func(path string) string { return "--" + path }
	for _, p := range slices.Sorted(maps.Keys(given)) {
		a := assignment{path: p, raw: words(given[p]), origin: spell(p), spell: spell}
		if k := known[p]; k != nil && isHider(k) {
			a.refuse = "it would be seen in the arguments of the process: put it into the file, or into the variable " + variable(p)
		}
		list = append(list, a)
	}
	return list
}

// hasPassword reports whether a value has a password.
func hasPassword(value any) bool {
	switch v := value.(type) {
	case Secret:
		return v != ""
	case URL:
		return v.hasPassword()
	case []URL:
		for _, u := range v {
			if u.hasPassword() {
				return true
			}
		}
	}
	return false
}

// Prefixes of variables.
const (
	prefix         = "IDBUILDER__"
	deployedPrefix = "IDBUILDER_WORKER__"
)

// environment returns the assignments of variables, in the order of their names.
func environment(variables []string) (list []assignment) {
	variables = slices.Sorted(slices.Values(variables))
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		used := prefix
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			used = deployedPrefix
			if rest, ok = strings.CutPrefix(name, deployedPrefix); !ok {
				continue
			}
		}
		list = append(list, assignment{
			path: strings.ToLower(strings.ReplaceAll(rest, "__", ".")), raw: words(value), origin: name,
			spell: func(path string) string { return variableWith(used, path) },
		})
	}
	return list
}

// variable returns the name of the variable that sets a key.
func variable(path string) string { return variableWith(prefix, path) }

func variableWith(prefix, path string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(path, ".", "__"))
}

// Fault is one fault of the configuration.
type Fault struct {
	Key    string // path; the name of the variable or flag, if there is no such key
	Value  string // as it is shown: without secrets
	Origin string // file:line, a variable, a flag; "the default"; "" if a program set it
	Reason string // what is wrong, and what is allowed
}

// String returns the fault on one line.
func (f Fault) String() string {
	text := f.Key
	if f.Value != "" {
		text += " = " + f.Value
	}
	if f.Origin != "" && f.Origin != f.Key {
		text += " (" + f.Origin + ")"
	}
	return text + ": " + f.Reason
}

// Error has all faults of the configuration.
type Error struct{ Faults []Fault }

// Error implements error: a line for each fault.
func (e *Error) Error() string {
	if len(e.Faults) == 1 {
		return "configuration: " + e.Faults[0].String()
	}
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = "\n" + f.String()
	}
	return fmt.Sprintf("configuration: %d faults:%s", len(e.Faults), strings.Join(lines, ""))
}

// asError returns faults as an error, nil if there are none.
func asError(faults []Fault) error {
	if len(faults) == 0 {
		return nil
	}
	return &Error{faults}
}

// show formats a value for a fault.
func show(k *key, value any) string {
	if isHider(k) {
		return showHidden(value)
	}
	switch v := value.(type) {
	case words:
		return quoteIfOdd(string(v))
	case string:
		return fmt.Sprintf("%q", shorten(v))
	}
	return shorten(fmt.Sprint(value))
}

// showHidden formats what can hold a password.
func showHidden(value any) string {
	switch v := value.(type) {
	case Secret, URL, []URL:
		return fmt.Sprint(v)
	}
	return hidden
}

func quoteIfOdd(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' }) {
		return fmt.Sprintf("%q", shorten(s))
	}
	return shorten(s)
}

// shorten cuts a text that would fill the screen.
func shorten(s string) string {
	const most = 200
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
