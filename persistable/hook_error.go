// SPDX-License-Identifier: Apache-2.0

package persistable

// HookError says that a method of the record refused a write: BeforeCreate,
// BeforeSave or Validate. Nothing was written.
//
// A type may have these methods, each without arguments and with an error as its
// result, on a pointer receiver. They are called in this order:
//
//   - BeforeCreate: by Create, CreateWithID, GetOrCreate and the creations of many,
//   - BeforeSave: by these, by every kind of Save, and by Update,
//   - Validate: by all of them, last.
//
// They are called once a call of the operation, before its first attempt, when the
// record has its id; in Update they are called behind each run of its function. In
// a transaction they are called as often as its function calls the operation. They
// may change the record but for its id, except that where the program assigns the
// ids BeforeCreate or BeforeSave may set it. Where the caller names a record that way, in
// CreateWithID, SaveExisting, SaveIfUnchanged, SaveIfVersion and Update, another id is a
// *[FieldError]. They must have no other effect, and
// they are not called for records that Update or a query reads.
type HookError struct {
	Type string
	ID   string // the id as a tuple, for people; empty if the record has none yet
	Hook string // the name of the method
	Err  error  // what it returned
}

// Error implements error.
func (e *HookError) Error() string {
	text := "persistable: " + e.Type
	if e.ID != "" {
		text += " " + e.ID
	}
	return text + ": " + e.Hook + ": " + e.Err.Error()
}

// Unwrap returns what the method returned.
func (e *HookError) Unwrap() error { return e.Err }
