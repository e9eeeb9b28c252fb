// SPDX-License-Identifier: Apache-2.0

package kv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"
)

// TransactionOptions are what transactions begin with: those of a database, by a field
// of its engine's Options; those of [With]; or one transaction's, by
// [ReadTransaction.SetOptions]. They hold for every attempt. The zero value is the
// engine's own.
//
// [Transaction.SetOption] overrides one of them for one transaction. OnError keeps
// the timeout, retry limit and cap of the back-off that SetOption set, and
// restores the other options. Reset restores all of them and restarts the timeout.
//
// The embedded engine accepts them all. Where there is nothing to do in one process it does
// nothing: a line of its own says so below.
type TransactionOptions struct {
	// Timeout ends transactions with CodeTransactionTimedOut, counted from Begin,
	// retries included ([OptionTimeout]). A commit that is under way goes on: its error
	// wraps [ErrOutcomeUnknown]. 0: none. It is cut to whole milliseconds.
	Timeout time.Duration

	// RetryLimit is how often OnError retries before it returns the error
	// ([OptionRetryLimit]). 0: without limit.
	RetryLimit int

	// MaxRetryDelay is the cap of OnError's back-off ([OptionMaxRetryDelay]).
	// 0: one second. It is cut to whole milliseconds.
	MaxRetryDelay time.Duration

	// SizeLimit is the most bytes of a transaction, 32 to [MaxTransactionSize]
	// ([OptionSizeLimit]). 0: that. Larger ones fail with CodeTransactionTooLarge.
	SizeLimit int

	// ReportConflictingKeys makes a commit that fails with CodeNotCommitted report
	// the conflicting reads ([OptionReportConflictingKeys]). The reply of a cluster
	// to such a commit is then a little larger.
	ReportConflictingKeys bool

	// Priority is the order in which a loaded cluster begins transactions.
	//
	// Embedded: no effect.
	Priority Priority

	// Tags name the load that the transaction is a part of, so that an operator can limit it: with
	// fdbcli's "quota set" from 7.3 on, "throttle on tag" before. At most [MaxTags] together with ThrottledTags, each of 1 to
	// [MaxTagSize] bytes. Transactions wait, or fail with CodeTagThrottled, which is retried,
	// while their tag is over its limit.
	//
	// Embedded: no effect.
	Tags []string

	// ThrottledTags are Tags that the cluster may also limit by itself, where it finds
	// that they load a storage server too much.
	//
	// Embedded: no effect.
	ThrottledTags []string

	// Identifier names the transaction in the client's trace, in samples of transactions and
	// in errors of the database. At most [MaxIdentifierSize] bytes.
	//
	// Embedded: it is in errors only.
	Identifier string

	// Log has the client write what the transaction does to its trace (fdbkv.Trace), under its
	// Identifier, which is needed.
	//
	// Embedded: no effect.
	Log bool

	// MaxStaleness lets transactions read at a version that this client has got or committed, at most
	// so long ago, instead of asking the cluster for one: a weak read takes one round trip instead of two. It is
	// below [MaxTransactionAge]; 0 asks each time. A weak read sees every commit that was acknowledged through
	// this Database before it began, what every earlier read through it saw, and every commit of other
	// clients that is older than MaxStaleness. (Reads at a version of SetReadVersion do not count, nor do those of
	// another binding in the same transaction.) A retry reads at a new version. A nanosecond takes back
	// what a database or a store has set. A transaction that writes conflicts with each commit since its read version,
	// so weak reads make conflicts likelier. Neither Priority nor Tags delay a weak read: the cluster
	// limits those that ask for a version.
	//
	// Embedded: no effect. The newest version is always at hand.
	MaxStaleness time.Duration

	// AtLeast is a version that the transaction must see, such as one that another service has committed
	// ([Transaction.GetCommittedVersion]) or read ([ReadTransaction.GetReadVersion]) and handed on: a
	// weak read is then not older. A version that the database has not reached, as of another
	// database, is CodeVersionInvalid. 0: none.
	AtLeast int64

	// AuthorizationToken is a JSON web token for a cluster that asks for one. It is not
	// printed or logged.
	//
	// Embedded: no effect.
	AuthorizationToken string
}

// The limits of FoundationDB for the texts of [TransactionOptions].
const (
	MaxTags           = 5
	MaxTagSize        = 16
	MaxIdentifierSize = 100
)

// Priority is the order in which a loaded cluster begins transactions.
type Priority int

// The priorities. The zero Priority is the operation's own: PriorityBatch for maintenance, such as
// the build of an index, and PriorityDefault for everything else.
const (
	// PriorityDefault is that of requests that somebody waits for.
	PriorityDefault Priority = iota + 1
	// PriorityBatch begins only while the cluster is not near its limit. Under a load, such
	// transactions wait, perhaps for long.
	PriorityBatch
	// PrioritySystemImmediate begins at once and is never limited. It can make a cluster that
	// is overloaded unusable: for the repair of one only.
	PrioritySystemImmediate
)

// String returns the name of the priority.
func (p Priority) String() string {
	switch p {
	case 0:
		return "the operation's own"
	case PriorityDefault:
		return "default"
	case PriorityBatch:
		return "batch"
	case PrioritySystemImmediate:
		return "system immediate"
	}
	return fmt.Sprintf("Priority(%d)", int(p))
}

// With returns the options with those of over that are not zero in their place. Tags
// are added, and the newer AtLeast is taken: what both ask for holds.
func (o TransactionOptions) With(over TransactionOptions) TransactionOptions {
	setUnlessZero(&o.Timeout, over.Timeout)
	setUnlessZero(&o.RetryLimit, over.RetryLimit)
	setUnlessZero(&o.MaxRetryDelay, over.MaxRetryDelay)
	setUnlessZero(&o.SizeLimit, over.SizeLimit)
	setUnlessZero(&o.ReportConflictingKeys, over.ReportConflictingKeys)
	setUnlessZero(&o.Priority, over.Priority)
	setUnlessZero(&o.Identifier, over.Identifier)
	setUnlessZero(&o.Log, over.Log)
	setUnlessZero(&o.AuthorizationToken, over.AuthorizationToken)
	setUnlessZero(&o.MaxStaleness, over.MaxStaleness)
	o.AtLeast = max(o.AtLeast, over.AtLeast)
	o.Tags, o.ThrottledTags = union(o.Tags, over.Tags), union(o.ThrottledTags, over.ThrottledTags)
	return o
}

func setUnlessZero[T comparable](to *T, v T) {
	if v != *new(T) {
		*to = v
	}
}

// union returns the texts of both lists, each once. It modifies neither.
func union(a, b []string) []string {
	for _, text := range b {
		if !slices.Contains(a, text) {
			a = append(slices.Clip(a), text)
		}
	}
	return a
}

// IsZero reports whether the options are the engine's own.
func (o TransactionOptions) IsZero() bool {
	return len(o.Tags)+len(o.ThrottledTags) == 0 && o.Priority == 0 && o.Identifier == "" && !o.Log && o.AuthorizationToken == "" && o.MaxStaleness == 0 && o.AtLeast == 0 &&
		o.Timeout == 0 && o.RetryLimit == 0 && o.MaxRetryDelay == 0 && o.SizeLimit == 0 && !o.ReportConflictingKeys
}

// Validate reports all faults of the options.
func (o TransactionOptions) Validate() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("kv: "+format, args...)) }
	for _, f := range []struct {
		name string
		d    time.Duration
	}{{"Timeout", o.Timeout}, {"MaxRetryDelay", o.MaxRetryDelay}} {
		if f.d != 0 && (f.d < time.Millisecond || f.d.Milliseconds() > math.MaxInt32) {
			fault("%s is %v; use 0 for the default, or a millisecond to %d ms", f.name, f.d, math.MaxInt32)
		}
	}
	if o.RetryLimit < 0 || o.RetryLimit > math.MaxInt32 {
		fault("RetryLimit is %d; use 0 for no limit, or at most %d", o.RetryLimit, math.MaxInt32)
	}
	if o.SizeLimit != 0 && (o.SizeLimit < 32 || o.SizeLimit > MaxTransactionSize) {
		fault("SizeLimit is %d; use 0 for the default, or 32 to %d bytes", o.SizeLimit, MaxTransactionSize)
	}
	if o.MaxStaleness < 0 || o.MaxStaleness >= MaxTransactionAge {
		fault("MaxStaleness is %v; use 0 for the newest version, or less than the %v for which a version can be read", o.MaxStaleness, MaxTransactionAge)
	}
	if o.AtLeast < 0 {
		fault("AtLeast is %d; use 0, or a version", o.AtLeast)
	}
	if o.Priority < 0 || o.Priority > PrioritySystemImmediate {
		fault("Priority is %d; use one of the constants", int(o.Priority))
	}
	return errors.Join(append(errs, o.validateTexts())...)
}

func (o TransactionOptions) validateTexts() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("kv: "+format, args...)) }
	all := union(o.Tags, o.ThrottledTags)
	if len(all) > MaxTags {
		fault("%d tags (%s); a transaction can have %d", len(all), strings.Join(all, ", "), MaxTags)
	}
	for _, tag := range all {
		if tag == "" || len(tag) > MaxTagSize {
			fault("the tag %q has %d bytes; use 1 to %d", tag, len(tag), MaxTagSize)
		}
	}
	if len(o.Identifier) > MaxIdentifierSize {
		fault("Identifier has %d bytes; use at most %d", len(o.Identifier), MaxIdentifierSize)
	}
	if o.Log && o.Identifier == "" {
		fault("Log is set, but there is no Identifier under which to log")
	}
	return errors.Join(errs...)
}

// CheckVersion returns an error if a read version is older than AtLeast. Engines call it.
func (o TransactionOptions) CheckVersion(read int64) error {
	if read >= o.AtLeast {
		return nil
	}
	return NewError(CodeVersionInvalid, "AtLeast is %d, but the newest version of the database is %d: AtLeast must be a version of this database", o.AtLeast, read)
}

// Format implements [fmt.Formatter]: it prints like any struct, except for the token.
func (o TransactionOptions) Format(f fmt.State, verb rune) {
	type transactionOptions = TransactionOptions
	type TransactionOptions transactionOptions // without methods; the name is what %#v prints
	fmt.Fprintf(f, fmt.FormatString(f, verb), TransactionOptions(o.public()))
}

// LogValue implements [slog.LogValuer]: it is logged without the token.
func (o TransactionOptions) LogValue() slog.Value {
	type plain TransactionOptions
	return slog.AnyValue(plain(o.public()))
}

// MarshalJSON implements [json.Marshaler]: it writes the fields without the token, for logs.
func (o TransactionOptions) MarshalJSON() ([]byte, error) {
	type plain TransactionOptions
	return json.Marshal(plain(o.public()))
}

// public returns the options without secrets.
func (o TransactionOptions) public() TransactionOptions {
	if o.AuthorizationToken != "" {
		o.AuthorizationToken = "[redacted]"
	}
	return o
}

// With returns db with options for its transactions, over those that it has: see
// [TransactionOptions.With]. Both are one open engine, and Close of either closes it.
// If the options are not valid, every transaction fails with the error of their Validate.
//
//	reports := kv.With(db, kv.TransactionOptions{Priority: kv.PriorityBatch, Tags: []string{"reports"}})
func With(db Database, o TransactionOptions) Database {
	if o.IsZero() {
		return db
	}
	if inner, ok := db.(withOptions); ok {
		db, o = inner.Database, inner.options.With(o)
	}
	return withOptions{db, o, o.Validate()}
}

type withOptions struct {
	Database
	options TransactionOptions
	invalid error
}

// Begin implements [Database].
func (d withOptions) Begin() (Transaction, error) {
	if d.invalid != nil {
		return nil, d.invalid
	}
	tx, err := d.Database.Begin()
	if err != nil {
		return nil, err
	}
	if err := tx.SetOptions(d.options); err != nil {
		tx.Cancel()
		tx.Release()
		return nil, err
	}
	return tx, nil
}

// Transact implements [Transactor].
func (d withOptions) Transact(ctx context.Context, fn func(Transaction) error) error {
	begun := false
	return d.options.NameError(d.Database.Transact(ctx, func(tx Transaction) error {
		if err := d.setOnce(tx, &begun); err != nil {
			return err
		}
		return fn(tx)
	}))
}

// ReadTransact implements [ReadTransactor].
func (d withOptions) ReadTransact(ctx context.Context, fn func(ReadTransaction) error) error {
	begun := false
	return d.options.NameError(d.Database.ReadTransact(ctx, func(tx ReadTransaction) error {
		if err := d.setOnce(tx, &begun); err != nil {
			return err
		}
		return fn(tx)
	}))
}

// setOnce sets the options in the first attempt: they hold for all.
func (d withOptions) setOnce(tx ReadTransaction, begun *bool) error {
	if d.invalid != nil || *begun {
		return d.invalid
	}
	*begun = true
	return tx.SetOptions(d.options)
}

// NameError adds the Identifier to an error of the database or of a context that ended. It returns
// other errors, and nil, as they are. Transact and ReadTransact of [With] call it; a caller of Begin
// may.
func (o TransactionOptions) NameError(err error) error {
	if o.Identifier == "" || CodeOf(err) == 0 && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("transaction %s: %w", o.Identifier, err)
}

// Option is a transaction option. The numbers are FoundationDB's. Options with
// an argument take it in [Transaction.SetOption]; the others ignore it.
type Option int

// The transaction options.
const (
	OptionCausalWriteRisky                  Option = 10
	OptionCausalReadRisky                   Option = 20
	OptionNextWriteNoWriteConflictRange     Option = 30  // the next write adds no write conflict range
	OptionReadYourWritesDisable             Option = 51  // before the first read or write only (2000 otherwise); read conflict ranges that were added before are forgotten
	OptionPrioritySystemImmediate           Option = 200 //
	OptionPriorityBatch                     Option = 201
	OptionAccessSystemKeys                  Option = 301 // read and write keys from \xff on
	OptionReadSystemKeys                    Option = 302
	OptionTimeout                           Option = 500 // milliseconds from the transaction's begin; 0 is none
	OptionRetryLimit                        Option = 501 // how often OnError retries; -1 is unlimited
	OptionMaxRetryDelay                     Option = 502 // milliseconds; the cap of OnError's back-off
	OptionSizeLimit                         Option = 503 // bytes, 32 to MaxTransactionSize
	OptionAutomaticIdempotency              Option = 505 // where the engine has it: no 1021
	OptionSnapshotRYWEnable                 Option = 600
	OptionSnapshotRYWDisable                Option = 601
	OptionLockAware                         Option = 700
	OptionUsedDuringCommitProtectionDisable Option = 701
	OptionReadLockAware                     Option = 702
	OptionReportConflictingKeys             Option = 712  // a commit that fails with CodeNotCommitted tells which reads were the cause: see [Error.Conflicts] and [Transaction.ConflictingKeys]
	OptionBypassUnreadable                  Option = 1100 // read what a versionstamped write hides
)
