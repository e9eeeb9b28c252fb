// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
)

// File is a file as it is to be: nil content removes it.
type File struct {
	Path    string
	Content []byte
}

// Write replaces the file, by a temporary one that is renamed, if its content
// differs.
func (o File) Write() error {
	if o.Content == nil {
		return os.Remove(o.Path)
	}
	if !o.Differs() {
		return nil
	}
	return ReplaceFile(o.Path, o.Content)
}

// Differs reports whether the file is not what it is to be.
func (o File) Differs() bool {
	old, err := os.ReadFile(o.Path)
	if o.Content == nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	return err != nil || !bytes.Equal(old, o.Content)
}

// ReplaceFile writes a file so that readers see the old content or the new.
func ReplaceFile(file string, content []byte) error {
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
