// SPDX-License-Identifier: Apache-2.0

package file

import (
	"crypto/sha256"
	"encoding/hex"
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

// longest bounds the bytes of a file's name without its ending.
const longest = 200

// FileName returns the name, without an ending, of the file for a sequence or
// document. Small letters, digits, "-", "_" and dots but a leading one stand for
// themselves, other bytes as % and two hexadecimal digits: two names never
// share a file, even where the file system does not tell cases apart. A name
// that would be too long is "%%" and its SHA-256.
func FileName(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if b.Len() <= longest {
		return b.String()
	}
	sum := sha256.Sum256([]byte(name))
	return "%%" + hex.EncodeToString(sum[:])
}

// isHashed reports whether a file's name is a hash, which does not show the key's name.
func isHashed(fileName string) bool { return strings.HasPrefix(fileName, "%%") }

// NameOf is the inverse of [FileName]. It reports false for a name that is not
// one of its results, and for those of long names.
func NameOf(fileName string) (name string, ok bool) {
	if isHashed(fileName) {
		return "", false
	}
	var b strings.Builder
	for i := 0; i < len(fileName); i++ {
		if fileName[i] != '%' {
			b.WriteByte(fileName[i])
			continue
		}
		c, err := hex.DecodeString(fileName[i+1 : min(i+3, len(fileName))])
		if err != nil || len(c) != 1 {
			return "", false
		}
		b.Write(c)
		i += 2
	}
	return b.String(), b.Len() > 0 && FileName(b.String()) == fileName
}
