// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"encoding/binary"

	"github.com/kazahana-db/kazahana/kv"
)

// The client's numbers of options that kv sets by a struct only.
const (
	optionIdentifier         kv.Option = 403
	optionLogTransaction     kv.Option = 404
	optionTag                kv.Option = 800
	optionAutoThrottleTag    kv.Option = 801
	optionAuthorizationToken kv.Option = 2000
)

// clientOption is an option as the client takes it.
type clientOption struct {
	option kv.Option
	value  []byte
	kept   bool // the client keeps it when OnError resets the transaction
}

// clientOptions are the options of each attempt of a transaction, in the order in which
// they are set.
type clientOptions []clientOption

// newClientOptions returns the options that are not zero.
func newClientOptions(o kv.TransactionOptions) clientOptions {
	var list clientOptions
	number := func(option kv.Option, n int64, kept bool) {
		if n != 0 {
			list = append(list, clientOption{option, binary.LittleEndian.AppendUint64(nil, uint64(n)), kept})
		}
	}
	number(kv.OptionTimeout, o.Timeout.Milliseconds(), true)
	number(kv.OptionRetryLimit, int64(o.RetryLimit), true)
	number(kv.OptionMaxRetryDelay, o.MaxRetryDelay.Milliseconds(), true)
	number(kv.OptionSizeLimit, int64(o.SizeLimit), false)
	if o.ReportConflictingKeys {
		list = append(list, clientOption{option: kv.OptionReportConflictingKeys})
	}
	return append(list, newLoadOptions(o)...)
}

// loadOf returns those of the options that the client cannot set for a database.
func loadOf(o kv.TransactionOptions) kv.TransactionOptions {
	return kv.TransactionOptions{
		Priority: o.Priority, Tags: o.Tags, ThrottledTags: o.ThrottledTags,
		Identifier: o.Identifier, Log: o.Log, AuthorizationToken: o.AuthorizationToken,
		MaxStaleness: o.MaxStaleness, AtLeast: o.AtLeast,
	}
}

// newLoadOptions returns the options of loadOf.
func newLoadOptions(o kv.TransactionOptions) clientOptions {
	var list clientOptions
	text := func(option kv.Option, value string, kept bool) {
		if value != "" {
			list = append(list, clientOption{option, []byte(value), kept})
		}
	}
	switch o.Priority {
	case kv.PriorityBatch:
		list = append(list, clientOption{option: kv.OptionPriorityBatch})
	case kv.PrioritySystemImmediate:
		list = append(list, clientOption{option: kv.OptionPrioritySystemImmediate})
	}
	for _, tag := range o.Tags {
		text(optionTag, tag, false)
	}
	for _, tag := range o.ThrottledTags {
		text(optionAutoThrottleTag, tag, false)
	}
	text(optionIdentifier, o.Identifier, false)
	if o.Log {
		list = append(list, clientOption{option: optionLogTransaction})
	}
	text(optionAuthorizationToken, o.AuthorizationToken, true)
	return list
}

// set sets the options in the client's transaction: all, or those that it has forgotten in
// OnError. Their values were accepted before.
func (l clientOptions) set(h *handle, all bool) error {
	for _, o := range l {
		if !all && o.kept {
			continue
		}
		if code := h.setOption(o.option, o.value); code != 0 {
			return newError(kv.Code(code), optionText(o.option, 0))
		}
	}
	return nil
}

// SetOptions implements [kv.ReadTransaction].
func (t *transaction) SetOptions(o kv.TransactionOptions) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if t.db != nil && o.MaxStaleness > 0 {
		t.db.versions.use()
	}
	if err := t.endError(); err == nil && onlyVersion(o) && t.current.Load() == nil && t.shared.Load() == nil {
		t.asked = t.asked.With(o)
		return nil
	}
	shared := t.shared.Load() != nil // its reads would be repeated without the options
	a, err := t.ownAttempt()
	if err != nil {
		return err
	}
	if shared || a.isUsed() {
		return newError(kv.CodeClientInvalidOperation, "SetOptions after a read or a write")
	}
	before := t.asked
	t.asked = before.With(o)
	t.options = newClientOptions(t.asked)
	t.reports.Store(t.reports.Load() || t.asked.ReportConflictingKeys)
	if replacesFixed(before, t.asked) {
		a.reset()
		a.version = readVersion{cache: t.versions}
		return t.options.set(a.handle, true)
	}
	return newClientOptions(o).set(a.handle, true)
}

// onlyVersion reports whether the options are only about the read version, which the client is not
// told until a read needs it.
func onlyVersion(o kv.TransactionOptions) bool {
	o.MaxStaleness, o.AtLeast = 0, 0
	return o.IsZero()
}

// replacesFixed reports whether after changes an option that the client sets once only.
func replacesFixed(before, after kv.TransactionOptions) bool {
	return before.Priority != 0 && before.Priority != after.Priority || before.Identifier != "" && before.Identifier != after.Identifier
}
