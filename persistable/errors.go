// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/internal/persistable/tenancy"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// The states that an operation can report. They come wrapped with type and id:
// compare with errors.Is.
var (
	// ErrNotFound: there is no such record, or no such directory.
	ErrNotFound = errors.New("persistable: not found")
	// ErrExists: Create found a record with that id.
	ErrExists = errors.New("persistable: a record with this id exists already")
	// ErrDeleted: a record with that id was deleted, and stays, because its type has a field with the option
	// deleted. Of Create the error is an ErrExists, too. The text says how to restore the record, and how to
	// remove it for good.
	ErrDeleted = errors.New("persistable: the record was deleted")
	// ErrChanged: the stored record differs from the one that the caller of
	// SaveIfUnchanged, SaveIfVersion or DeleteIfUnchanged has seen.
	ErrChanged = errors.New("persistable: the record has changed since it was read")
	// ErrNoID: the record has no id, and none can be made here: in a
	// transaction, without a generator that answers, because the caller
	// assigns the ids of its type, or because the caller passes the id to
	// the method, such as CreateWithID. An id that is zero or empty counts as no id, in
	// all methods that write a record; only among bools and floats is every value an id.
	ErrNoID = errors.New("persistable: the record has no id")
	// ErrReadOnly: a write was tried in ReadTransact, or with a DB that is [Options].ReadOnly.
	ErrReadOnly       = errors.New("persistable: nothing can be written here")
	errOptionReadOnly = fmt.Errorf("%w: the DB was opened with Options.ReadOnly", ErrReadOnly)
	// ErrBadToken: a page token is damaged, was forged, or belongs to another
	// query, tenant or database.
	ErrBadToken = errors.New("persistable: bad page token")
	// ErrClosed: the engine was closed. It is kv.ErrClosed.
	ErrClosed = kv.ErrClosed
	// ErrNewer: a newer version of this library wrote what was to be read or changed. Nothing
	// is damaged, and nothing was changed. The error names the version to run. It is
	// lease.ErrNewer, and every error of this library about newer data.
	ErrNewer = newer.Err
	// ErrNoIndex: no index of the type serves the conditions given to Find or FindOne, which
	// need at least one condition on the first field of an index; or no index has the name
	// given to a method of [Indexes]. The text names the indexes and the marker of one that
	// serves the conditions, to be pasted into the struct.
	ErrNoIndex = errors.New("persistable: no such index")
	// ErrNotBuilt: an index cannot be queried yet in this store: it is disabled, or being
	// built. Run Indexes().Build.
	ErrNotBuilt = errors.New("persistable: the index is not built in this store")
	// ErrForeignIndex: a store has an index that this program's code does not have and that
	// the program cannot maintain from the bytes of records either. It refuses every write to
	// the store, because the index would miss what it writes; reads go on. To end it, update
	// the program; or, if no program queries the index any more, run Indexes().RemoveUnused,
	// which works nevertheless. It is an [ErrNewer] as well if the index needs a newer version
	// of this library.
	ErrForeignIndex = errors.New("persistable: the store has an index that this program cannot maintain")
	// ErrFilterLimit: a query that filters records in memory has looked at as many as its
	// FilterLimit allows. What it has yielded before is right.
	ErrFilterLimit = errors.New("persistable: the query has looked at too many records")
	// ErrOverflow: a sum does not fit into the type of its method. The store keeps sums in
	// 128 bits, so nothing is lost: the text has the whole sum.
	ErrOverflow = errors.New("persistable: the sum does not fit into 64 bits")
	// ErrRefused: BeforeCreate, BeforeSave, Validate or BeforeDelete, a method of the record, refused the
	// write, or a value breaks the bounds of its field (min, max, maxlen, match). Nothing was written. The
	// error wraps what the method returned, or is a *[FieldError] that names the field, its value and the bound.
	// The package documentation lists the methods under Hooks.
	ErrRefused = errors.New("persistable: the record refused the write")
	// ErrLocked: nothing was written, because the directory of the store or one above it is
	// locked: a tenant that is being copied or exported. The text has the reason that its
	// locker gave. Try again when the tenant is unlocked (tenants.Set.Unlock).
	ErrLocked = tenancy.ErrLocked
	// ErrQuota: a record was not written, because the tenant would have more than its quota.
	// Delete records, or raise the quota (tenants.Set.SetQuota).
	ErrQuota = errors.New("persistable: the quota would be exceeded")
	// ErrDangling: a record was not written, because a field with the option check refers to a
	// record that does not exist. Create that before this one, perhaps in the same transaction.
	ErrDangling = errors.New("persistable: the record refers to one that does not exist")
	// ErrReferred: a record was not deleted, because others refer to it by a field with the
	// option restrict, or more than a transaction deletes by one with the option cascade. Delete
	// them first, or have them refer to another record.
	ErrReferred = errors.New("persistable: other records refer to the record")
	// ErrNoBlob: the content to which a [Blob] refers is not there: it was removed with its record, or
	// replaced, or is not in this store, or its upload was removed or never committed.
	ErrNoBlob = errors.New("persistable: the content of the blob is not there")
	// ErrBlobAttached: a record was not written, because a field refers to a content that belongs to
	// another record. Write the content again for this one.
	ErrBlobAttached = errors.New("persistable: the blob belongs to another record")
	// ErrFenced: a transaction was not committed, because this process may have lost the
	// lease that the transaction needs: one given to [DB.Under], or that of the machine id of
	// a new record's id. It is a [leasefdb.ErrLeaseLost] as well, and is not retryable.
	ErrFenced = errors.New("persistable: the transaction is fenced off")
)

// UniqueError says that another record has the values of a unique index: in the
// transaction's view, so it may be a record that the transaction is going to
// give other values later. It is not retryable; nothing was written. [Store.Save] says how two
// records exchange values.
type UniqueError struct {
	Type   string
	Index  string      // without the suffix of unique indexes in keys
	Fields []string    // the index's fields
	Values tuple.Tuple // in the order of Fields, as tuple elements
	Owner  any         // the id of the other record
}

// Error implements error.
func (e *UniqueError) Error() string {
	return fmt.Sprintf("persistable: %s: %s is taken by the %s with the id %v", e.Type, valuesText(e.Fields, e.Values), e.Type, shorten(fmt.Sprint(e.Owner)))
}

// valuesText shows the values of an index: Number = "A-1001", several fields as
// tuples.
func valuesText(fields []string, values tuple.Tuple) string {
	text := values.String() // in parentheses
	if len(fields) != 1 {
		return "(" + strings.Join(fields, ", ") + ") = " + shorten(text)
	}
	return fields[0] + " = " + shorten(text[1:len(text)-1])
}

// shorten cuts the text of a value that would fill the screen, or a log.
func shorten(text string) string {
	const most = 300 // bytes
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:most], ""), len(text))
}

// DirectoryError says that a store cannot be opened with its directory
// arguments, or that a record does not belong to the store's directory.
type DirectoryError struct {
	Type   string   // empty if no type is concerned
	Path   []string // of the store
	Field  string   // the {Field} in question; empty if none
	Reason string
}

// Error implements error.
func (e *DirectoryError) Error() string {
	where := e.Type
	if e.Field != "" {
		where += "." + e.Field
	}
	if where != "" {
		where += ": "
	}
	switch {
	case len(e.Path) > 0:
		where += "directory " + tenancy.QuotePath(e.Path) + ": "
	case where == "":
		where = "the root directory: "
	}
	return "persistable: " + where + e.Reason
}

// FieldError says that a field's value cannot be stored.
type FieldError struct {
	Type   string
	Field  string // the name in the struct; "ID" for the id
	Reason string // what is wrong and what to do
	Err    error  // the cause, if any
}

// Error implements error.
func (e *FieldError) Error() string {
	return withCause(fmt.Sprintf("persistable: %s.%s: %s", e.Type, e.Field, e.Reason), e.Err)
}

// Unwrap returns the cause.
func (e *FieldError) Unwrap() error { return e.Err }

func withCause(text string, err error) string {
	if err == nil {
		return text
	}
	return text + ": " + err.Error()
}

// RecordError says that stored bytes cannot be used, because they are corrupt or, if it is
// an [ErrNewer], of a newer version, or that a record is too large to be stored.
type RecordError struct {
	Type   string
	ID     string // the id as a tuple, for people; empty where no single record is meant
	Key    []byte // where the bytes are
	Reason string // what is wrong
	Remedy string // what to do
	Err    error  // the cause, if any; an [ErrNewer] is in Reason and Remedy
}

// Error implements error.
func (e *RecordError) Error() string {
	text := "persistable: " + e.Type
	if e.ID != "" {
		text += " " + e.ID
	}
	if e.Key != nil {
		text += fmt.Sprintf(" at key %x", e.Key[:min(len(e.Key), 256)])
	}
	text += ": " + e.Reason
	if !errors.Is(e.Err, ErrNewer) {
		text = withCause(text, e.Err)
	}
	if e.Remedy != "" {
		text += ": " + e.Remedy
	}
	return text
}

// Unwrap returns the cause.
func (e *RecordError) Unwrap() error { return e.Err }

// recordError adds type, id and key to a fault of stored bytes.
func recordError(typ, id string, key []byte, err error) error {
	e := &RecordError{Type: typ, ID: id, Key: slices.Clone(key), Remedy: format.RemedyCorrupt}
	var header *format.Error
	if errors.As(err, &header) {
		e.Reason, e.Remedy, e.Err = header.Reason, header.Remedy, header.Err
		return e
	}
	e.Reason, e.Err = "the record cannot be decoded", err
	return e
}

func corrupt(typ string, id, key []byte, reason string, args ...any) error {
	return &RecordError{Type: typ, ID: idText(id), Key: slices.Clone(key), Reason: fmt.Sprintf(reason, args...), Remedy: format.RemedyCorrupt}
}

// idText shows a packed id to people.
func idText(id []byte) string { return shorten(tuple.Describe(id)) }
