// SPDX-License-Identifier: Apache-2.0

package model

// Hook is a method of a record that the run-time calls when it writes the record.
type Hook string

// The hooks, in the order in which the run-time calls them.
const (
	BeforeCreate Hook = "BeforeCreate"
	BeforeSave   Hook = "BeforeSave"
	Validate     Hook = "Validate"
	BeforeDelete Hook = "BeforeDelete"
	AfterCommit  Hook = "AfterCommit"
)

// Hooks lists all hooks.
func Hooks() []Hook { return []Hook{BeforeCreate, BeforeSave, Validate, BeforeDelete, AfterCommit} }

// Sets reports whether the hook is there to set fields of the record.
func (h Hook) Sets() bool { return h == BeforeCreate || h == BeforeSave }

// When says when the run-time calls the hook.
func (h Hook) When() string {
	switch h {
	case BeforeDelete:
		return "before a record is deleted"
	case AfterCommit:
		return "after a write is committed"
	}
	return "before a record is written"
}

// Forms returns what a method that is the hook may look like.
func (h Hook) Forms() []HookForm {
	switch h {
	case BeforeDelete:
		return []HookForm{HookInTransaction}
	case AfterCommit:
		return []HookForm{HookAfter}
	}
	return []HookForm{HookPlain, HookInTransaction}
}

// HookForm is what a hook takes.
type HookForm int

// The forms of hooks.
const (
	HookPlain         HookForm = iota // nothing
	HookInTransaction                 // the context and the transaction
	HookAfter                         // the context; it has no result
)

// Signature returns the type of a method of the form, as [types.TypeString] writes it.
func (f HookForm) Signature() string {
	return [...]string{"func() error", "func(context.Context, " + PersistablePath + ".Tx) error", "func(context.Context)"}[f]
}

// Source returns parameters and result of a method of the form, as a user writes them.
func (f HookForm) Source() string {
	return [...]string{"() error", "(ctx context.Context, tx persistable.Tx) error", "(ctx context.Context)"}[f]
}

// HookMethod is a hook that a record has.
type HookMethod struct {
	Hook Hook
	Form HookForm
}
