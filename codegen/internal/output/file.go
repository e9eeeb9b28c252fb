// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// File is a file as it is to be: nil content removes it.
type File struct {
	Path    string
	Content []byte
}

// WriteAll brings those of the files to disk that differ, which keep their line ends. It
// first writes all contents to temporary files: if that fails, nothing has changed. It then
// renames them, and removes files, in the order of the list. If that fails at a file, those
// before it have changed. WriteAll returns the files that have changed, with the bytes that
// they have by now.
func WriteAll(files []File) (changed []File, err error) {
	var staged []stagedFile
	defer func() {
		for _, s := range staged {
			err = errors.Join(err, s.discard())
		}
	}()
	for _, f := range files {
		if !f.Differs() {
			continue
		}
		s, err := f.stage()
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", filepath.Base(f.Path), err)
		}
		staged = append(staged, s)
	}
	for ; len(staged) > 0; staged = staged[1:] {
		if err := staged[0].commit(); err != nil {
			return changed, fmt.Errorf("write %s: %w", filepath.Base(staged[0].Path), err)
		}
		changed = append(changed, staged[0].File)
	}
	return changed, nil
}

// stagedFile is a file that is about to be replaced by a temporary one, or removed.
type stagedFile struct {
	File
	temporary string // empty: to be removed
}

// stage writes the content to a temporary file, with the line ends of the file.
func (o File) stage() (stagedFile, error) {
	if o.Content == nil {
		return stagedFile{File: o}, nil
	}
	if old, err := os.ReadFile(o.Path); err == nil && bytes.Contains(old, []byte("\r\n")) {
		o.Content = bytes.ReplaceAll(UnixLines(o.Content), []byte("\n"), []byte("\r\n"))
	}
	mode := os.FileMode(0o644)
	if info, err := os.Stat(o.Path); err == nil {
		mode = info.Mode().Perm()
	}
	temporary, err := os.CreateTemp(filepath.Dir(o.Path), ".persistgen-*")
	if err != nil {
		return stagedFile{}, o.replaceError(err)
	}
	_, err = temporary.Write(o.Content)
	err = errors.Join(err, temporary.Chmod(mode), temporary.Sync(), temporary.Close())
	s := stagedFile{o, temporary.Name()}
	if err != nil {
		return s, errors.Join(o.replaceError(err), s.discard())
	}
	return s, nil
}

func (s stagedFile) commit() error {
	if s.temporary == "" {
		return os.Remove(s.Path)
	}
	return s.replaceError(os.Rename(s.temporary, s.Path))
}

// replaceError makes an error of the system one that does not name the temporary file: the same
// fault has the same text each time.
func (o File) replaceError(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		err = path.Err
	} else if link, ok := errors.AsType[*os.LinkError](err); ok {
		err = link.Err
	}
	if err == nil {
		return nil
	}
	return &os.PathError{Op: "replace", Path: o.Path, Err: err}
}

// discard removes the temporary file.
func (s stagedFile) discard() error {
	if s.temporary == "" {
		return nil
	}
	return os.Remove(s.temporary)
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
	s, err := File{file, content}.stage()
	if err != nil {
		return err
	}
	if err := s.commit(); err != nil {
		return errors.Join(err, s.discard())
	}
	return nil
}
