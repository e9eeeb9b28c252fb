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
// differs. It keeps the file's line ends.
func (o File) Write() error {
	if o.Content == nil {
		return os.Remove(o.Path)
	}
	if !o.Differs() {
		return nil
	}
	content := o.Content
	if old, err := os.ReadFile(o.Path); err == nil && bytes.Contains(old, []byte("\r\n")) {
		content = bytes.ReplaceAll(UnixLines(content), []byte("\n"), []byte("\r\n"))
	}
	return ReplaceFile(o.Path, content)
}

// Differs reports whether the file is not what it is to be. Line ends do not count: git
// may have checked the file out with those of Windows.
func (o File) Differs() bool {
	old, err := os.ReadFile(o.Path)
	if o.Content == nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	return err != nil || !bytes.Equal(UnixLines(old), UnixLines(o.Content))
}

// UnixLines returns a text with the line ends of Unix.
func UnixLines(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

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
