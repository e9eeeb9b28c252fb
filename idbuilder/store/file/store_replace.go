// SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// fresh is the ending of a file that is being written. No file of a key has it.
const fresh = "~"

// replaceFile makes data the contents of a file, durably. The caller has the file's lock,
// so only this process writes the fresh file; a fresh file that exists is from a
// crash.
func (s *Store) replaceFile(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := errors.Join(s.recordedFailure(path), s.recordedFailure(dir)); err != nil {
		return err
	}
	if err := s.removeFile(path + fresh); err != nil {
		return err
	}
	if err := s.writeFile(path, data); err != nil {
		_ = s.removeFile(path + fresh)
		return err
	}
	if err := s.disk.Rename(path+fresh, path); err != nil {
		return err
	}
	return s.syncDir(dir)
}

// writeFile writes and syncs the fresh file.
func (s *Store) writeFile(path string, data []byte) error {
	file, err := s.disk.Create(path + fresh)
	if err != nil {
		return err
	}
	if _, err := file.Write(data); err != nil {
		_ = file.Close()
		return err
	}
	if err := file.Sync(); err != nil {
		_ = file.Close()
		return s.recordFailure(path, err)
	}
	return file.Close()
}

// removeFile removes a file, if there is one.
func (s *Store) removeFile(path string) error {
	if err := s.disk.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncDir makes the names in a folder durable.
func (s *Store) syncDir(dir string) error {
	if err := s.recordedFailure(dir); err != nil {
		return err
	}
	if err := s.disk.SyncDir(dir); err != nil {
		return s.recordFailure(dir, err)
	}
	return nil
}

// recordFailure remembers that a sync has failed.
func (s *Store) recordFailure(path string, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed[path] = err
	return fmt.Errorf("syncing %s: %w", path, err)
}

// recordedFailure returns the error of a file or folder of which a sync has failed.
func (s *Store) recordedFailure(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failed[path]; err != nil {
		return fmt.Errorf("an earlier sync of %s has failed, so nothing is written there until the store is opened anew; check the disk first: %w", path, err)
	}
	return nil
}

// readFile returns the contents of a file, and whether it exists.
func (s *Store) readFile(path string) (data []byte, exists bool, err error) {
	data, err = s.disk.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR):
		return nil, false, &store.CorruptError{Where: path, Reason: "the file cannot be read: check that it is a file, and that this user may read it", Err: err}
	case err != nil:
		return nil, false, err // such as too many open files: it says nothing about the data
	case len(strings.TrimSpace(string(data))) == 0:
		return nil, false, &store.CorruptError{Where: path, Reason: "the file is empty; " + wayOut}
	}
	return data, true, nil
}

// What to do about a file that is not as it was written.
const (
	wayOut      = "the store writes whole files only, so another program or the file system has changed it: restore the file from a backup"
	wayOutRaise = wayOut + ", and then raise current above every number that was given since"
)
