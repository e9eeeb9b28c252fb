// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"crypto/rand"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
)

// Names are the named leases in one directory of a database: locks, elections,
// whatever one process at a time may do. It is safe for concurrent use.
type Names struct {
	db   kv.Database
	path []string
	dirs *directory.Cache
}

// NameOptions configure [Names]. The zero value is ready to use.
type NameOptions struct {
	// Layer is the directory layer in which the directory is. The default value
	// is directory.Root().
	Layer *directory.Layer
	// Path is the directory of the names. All programs that share names use the
	// same. The default value is kazahana/names.
	Path []string
}

// NewNames returns the names in a directory of db. Nothing is read or written:
// the first claim creates the directory.
func NewNames(db kv.Database, o NameOptions) (*Names, error) {
	if db == nil {
		return nil, errors.New("leasefdb: the database of the names is nil")
	}
	if o.Layer == nil {
		o.Layer = directory.Root()
	}
	if o.Path == nil {
		o.Path = []string{"kazahana", "names"}
	}
	dirs, err := directory.NewCache(o.Layer, db, directory.CacheOptions{})
	if err != nil {
		return nil, err
	}
	return &Names{db: db, path: o.Path, dirs: dirs}, nil
}

// maxName keeps the keys of a name within their limit, and those of others
// readable.
const maxName = 1024

func checkText(what, text string) error {
	switch {
	case text == "":
		return fmt.Errorf("leasefdb: the %s is empty", what)
	case len(text) > maxName:
		return fmt.Errorf("leasefdb: the %s has %d bytes; at most %d are possible", what, len(text), maxName)
	case !utf8.ValidString(text):
		return fmt.Errorf("leasefdb: the %s is not valid UTF-8", what)
	}
	return nil
}

// newRequestID returns a request id that no other claim has.
func newRequestID() string { return rand.Text() }
