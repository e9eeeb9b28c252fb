// SPDX-License-Identifier: Apache-2.0

package deployed

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Types of IDs, which are folders of configurations.
var types = []string{"increment", "snowflake", "formatted"}

// Folder is what a folder holds.
type Folder struct {
	configs   []config
	sequences map[string]sequence // by the name of the file, without .json
}

// config is a file with a configuration.
type config struct {
	file, kind string
	body       []byte
	err        error // why it cannot be read
}

// sequence is a file with a sequence.
type sequence struct {
	file    string
	current int64
	err     error
}

// Is reports whether a folder is one of a deployed worker: its configurations lie
// in a folder for each type.
func Is(dir string) bool {
	return slices.ContainsFunc(types, func(kind string) bool {
		info, err := os.Stat(filepath.Join(dir, "configs", kind))
		return err == nil && info.IsDir()
	})
}

// Read reads a folder. Files that are not what they should be are an error only
// where a key needs them: see [Folder.Plan].
func Read(dir string) (*Folder, error) {
	f := &Folder{sequences: map[string]sequence{}}
	if info, err := os.Stat(filepath.Join(dir, "configs")); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s is not the folder of a deployed worker's file store: it has no folder configs", dir)
	}
	for _, kind := range types {
		if err := eachFile(filepath.Join(dir, "configs", kind), func(file string, body []byte, err error) {
			f.configs = append(f.configs, config{file, kind, body, err})
		}); err != nil {
			return nil, err
		}
	}
	return f, eachFile(filepath.Join(dir, "sequences"), func(file string, body []byte, err error) {
		s := sequence{file: file, err: err}
		if err == nil {
			s.current, s.err = currentOf(body)
		}
		f.sequences[strings.TrimSuffix(filepath.Base(file), ".json")] = s
	})
}

// eachFile calls do with each JSON file of a folder, in the order of their names.
func eachFile(dir string, do func(file string, body []byte, err error)) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if file := filepath.Join(dir, e.Name()); strings.HasSuffix(file, ".json") && !e.IsDir() {
			body, err := os.ReadFile(file)
			do(file, body, err)
		}
	}
	return nil
}

// currentOf returns the number that a sequence gives next.
func currentOf(body []byte) (int64, error) {
	var state struct {
		Current *int64 `json:"current_value"`
	}
	switch err := json.Unmarshal(body, &state); {
	case err != nil:
		return 0, fmt.Errorf("it is torn, or no JSON: %w", err)
	case state.Current == nil:
		return 0, errors.New("it has no current_value")
	}
	return *state.Current, nil
}

// fileName returns the name that the worker gives to the file of a name.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Other_Alphabetic, r) || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, name)
}

// nameOf returns the name in a configuration, "" if there is none.
func nameOf(body []byte) string {
	var named struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(body, &named) // what is wrong with it is told by idconfig
	return named.Name
}

// Plan returns what a store must hold for the keys of the folder to go on. The
// error joins all that is in the way.
func (f *Folder) Plan(o Options) (*Plan, error) {
	if o.Margin == 0 {
		o.Margin = 1000
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &planner{Folder: f, Options: o, used: map[string]bool{}, seen: map[string]string{}}
	for _, c := range f.configs {
		p.add(c)
	}
	for _, key := range slices.Sorted(maps.Keys(o.Next)) {
		if p.seen[key] == "" {
			p.faults = append(p.faults, fmt.Errorf("next: there is no key %q", key))
		}
	}
	p.noteUnused()
	return &p.plan, errors.Join(p.faults...)
}
