// SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// ending ends the names of files with JSON.
const ending = ".json"

// sequenceFile is the contents of a sequence's file.
type sequenceFile struct {
	Key       string    `json:"key,omitempty"` // if the file's name is a hash
	Current   *int64    `json:"current"`
	Version   *int64    `json:"version"`
	UpdatedAt time.Time `json:"updated_at"`
}

// readSequence returns a sequence, and whether it exists.
func (s *Store) readSequence(name string) (q store.Sequence, exists bool, err error) {
	path := s.path("sequences", FileName(name)+ending)
	data, exists, err := s.readFile(path)
	if err != nil || !exists {
		return q, false, err
	}
	var f sequenceFile
	err = json.Unmarshal(data, &f)
	switch {
	case err != nil:
	case f.Current == nil || f.Version == nil || *f.Version < 0:
		err = errors.New("it has no current, or no version")
	case f.Key != "" && f.Key != name:
		err = fmt.Errorf("it is of the sequence %q", f.Key)
	}
	if err != nil {
		return q, false, &store.CorruptError{Where: path, Reason: "this is not the sequence " + name + "; " + wayOutRaise, Err: err}
	}
	return store.Sequence{Value: *f.Current, Version: max(1, *f.Version)}, true, nil // a version of 0 is of another program
}

// writeSequence stores a sequence under its next version, which it returns.
func (s *Store) writeSequence(name string, value, version int64) (int64, error) {
	if version == math.MaxInt64 {
		return 0, fmt.Errorf("the sequence %q has the highest possible version", name)
	}
	version++
	f := sequenceFile{Current: &value, Version: &version, UpdatedAt: s.now().UTC()}
	file := FileName(name)
	if isHashed(file) {
		f.Key = name
	}
	data, err := json.Marshal(f)
	if err != nil {
		return 0, err
	}
	return version, s.replaceFile(s.path("sequences", file+ending), append(data, '\n'))
}

// Reserve implements [store.Store].
func (s *Store) Reserve(ctx context.Context, name string, r store.Reservation) (got store.Range, err error) {
	if err := errors.Join(store.CheckName(name), r.Validate()); err != nil {
		return got, err
	}
	err = s.withLock(ctx, FileName(name), func() error {
		q, exists, err := s.readSequence(name)
		if err != nil {
			return err
		}
		if !exists {
			q.Value = r.Start
		}
		to, err := r.Advance(q.Value)
		if err != nil {
			return err
		}
		version, err := s.writeSequence(name, to, q.Version)
		got = store.Range{From: q.Value, To: to, Version: version}
		return err
	})
	if err != nil {
		return store.Range{}, s.explainError("reserve", err)
	}
	return got, nil
}

// Sequence implements [store.Store].
func (s *Store) Sequence(ctx context.Context, name string) (q store.Sequence, err error) {
	if err := store.CheckName(name); err != nil {
		return q, err
	}
	err = s.read(ctx, func() (err error) {
		var exists bool
		if q, exists, err = s.readSequence(name); err == nil && !exists {
			err = store.ErrNotFound
		}
		return err
	})
	return q, s.explainError("sequence", err)
}

// SetSequence implements [store.Store].
func (s *Store) SetSequence(ctx context.Context, name string, value, version int64) error {
	if err := store.CheckName(name); err != nil {
		return err
	}
	return s.explainError("set sequence", s.withLock(ctx, FileName(name), func() error {
		q, _, err := s.readSequence(name)
		if err != nil {
			return err
		}
		if q.Version != version {
			return store.ErrConflict
		}
		_, err = s.writeSequence(name, value, version)
		return err
	}))
}

// DeleteSequence implements [store.Store]. It does not read the file, so that it also removes
// one that is damaged. The file of the lock goes last, so that what a crash leaves can be removed
// by another call. It stays where the system does not remove open files.
func (s *Store) DeleteSequence(ctx context.Context, name string) (found bool, err error) {
	if err := store.CheckName(name); err != nil {
		return false, err
	}
	file := FileName(name)
	return found, s.explainError("delete sequence", s.withLock(ctx, file, func() error {
		path := s.path("sequences", file+ending)
		err := errors.Join(s.recordedFailure(path), s.removeFile(path+fresh))
		if err == nil {
			err = s.disk.Remove(path)
		}
		switch {
		case err == nil:
			found = true
			err = s.syncDir(s.path("sequences"))
		case errors.Is(err, fs.ErrNotExist):
			err = nil
		}
		if err == nil {
			_ = s.removeFile(s.path("locks", file+".lock"))
		}
		return err
	}))
}
