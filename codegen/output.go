// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// write brings the outputs to disk.
func (r *run) write() error {
	for _, o := range r.outputs {
		if err := o.write(); err != nil {
			return fmt.Errorf("persistgen: write %s: %w", filepath.Base(o.file), err)
		}
	}
	return nil
}

// write replaces the file, by a temporary one that is renamed, if its content
// differs.
func (o output) write() error {
	if o.content == nil {
		return os.Remove(o.file)
	}
	if !o.differs() {
		return nil
	}
	return replaceFile(o.file, o.content)
}

// differs reports whether the file is not what it is to be.
func (o output) differs() bool {
	old, err := os.ReadFile(o.file)
	if o.content == nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	return err != nil || !bytes.Equal(old, o.content)
}

// replaceFile writes a file so that readers see the old content or the new.
func replaceFile(file string, content []byte) error {
	mode := os.FileMode(0o644)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), ".persistgen-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(content)
	err = errors.Join(err, temporary.Chmod(mode), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(temporary.Name()))
	}
	return err
}

// compare prints what write would change, as a unified diff.
func (r *run) compare() error {
	stale := false
	for _, o := range r.outputs {
		if !o.differs() {
			continue
		}
		old, err := os.ReadFile(o.file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("persistgen: %w", err)
		}
		stale = true
		name := r.relative(o.file)
		if _, err := r.Stdout.Write(unifiedDiff(name, old, o.content)); err != nil {
			return fmt.Errorf("persistgen: print the diff: %w", err)
		}
	}
	if stale {
		return ErrOutOfDate
	}
	return nil
}
