// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/internal/persistable/tenancy"
	"github.com/kazahana-db/kazahana/internal/worklist"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// verificationKeys are where a verification that processes share is kept: in annotations of the
// store's directory, so that neither a lock protects it nor an export has it.
//
//	("annotation", "kazahana", "verify", type)                  = the [verificationHead]
//	("annotation", "kazahana", "verify", type, "range", begin…) = a [worklist.Range]
//	("annotation", "kazahana", "verify", type, "fault", begin of the range, number) = (index, key, id, reason)
//
// The keys of ranges are (step, index), and then those of the step: see [verifyStep].
type verificationKeys struct{ tuple.Subspace }

func newVerificationKeys(o *openStore, p *place) verificationKeys {
	return verificationKeys{o.directory.Annotation(tenancy.Owner).Sub("verify", p.typ)}
}

func (k verificationKeys) list() worklist.List { return worklist.List{Prefix: k.Sub("range").Bytes()} }

func (k verificationKeys) faults() kv.KeyRange { return kv.PrefixRange(k.Sub("fault").Bytes()) }

// clear removes a verification.
func (k verificationKeys) clear(tx kv.Transaction) {
	tx.Clear(k.Bytes())
	tx.ClearRange(k.list().Keys())
	tx.ClearRange(k.faults())
}

// verificationHead says which verification there is. Its value is the packed tuple
//
//	(1, id, whether it repairs, when it began in microseconds, whether it is done, result)
//
// with the result of a verification that is done, and of no ranges before.
type verificationHead struct {
	id     []byte
	repair bool
	began  time.Time
	done   bool
	result verifyResult
}

const verificationFormat = 1

// readHead returns the head; nil if there is none.
func (k verificationKeys) readHead(ctx context.Context, tx kv.ReadTransaction) (*verificationHead, error) {
	value, err := tx.Get(k.Bytes()).Get(ctx)
	if err != nil || value == nil {
		return nil, err
	}
	h, err := decodeVerificationHead(value)
	if err != nil {
		return nil, fmt.Errorf("persistable: a verification at the key %q: %w", k.Bytes(), err)
	}
	return h, nil
}

func (k verificationKeys) writeHead(tx kv.Transaction, h *verificationHead) error {
	value, err := tuple.Tuple{int64(verificationFormat), h.id, h.repair, h.began.UnixMicro(), h.done, h.result.encode()}.Pack()
	if err == nil {
		tx.Set(k.Bytes(), value)
	}
	return err
}

var errVerification = errors.New("its value is damaged")

func decodeVerificationHead(value []byte) (*verificationHead, error) {
	if _, err := newer.ReadFormat(value, verificationFormat); errors.Is(err, newer.Err) {
		return nil, err
	}
	t, err := tuple.Unpack(value)
	if err != nil || len(t) != 6 {
		return nil, errVerification
	}
	var h verificationHead
	var ok [5]bool
	var began int64
	var result []byte
	h.id, ok[0] = t[1].([]byte)
	h.repair, ok[1] = t[2].(bool)
	began, ok[2] = t[3].(int64)
	h.done, ok[3] = t[4].(bool)
	result, ok[4] = t[5].([]byte)
	if slices.Contains(ok[:], false) {
		return nil, errVerification
	}
	h.began = time.UnixMicro(began)
	h.result, err = decodeVerifyResult(result)
	return &h, err
}

// verifyResult is what was found in a range, or in all. Its value is the packed tuple
//
//	(records, entries, repaired, faults that are stored, whether there are more, index that is skipped…)
type verifyResult struct {
	records, entries, repaired, faults int64
	more                               bool
	skipped                            []string
}

func (r verifyResult) encode() []byte {
	b := tuple.AppendInt(nil, r.records)
	for _, n := range []int64{r.entries, r.repaired, r.faults} {
		b = tuple.AppendInt(b, n)
	}
	b = tuple.AppendBool(b, r.more)
	for _, name := range r.skipped {
		b = tuple.AppendString(b, name)
	}
	return b
}

// decodeVerifyResult reads what encode returned; nothing is the zero value.
func decodeVerifyResult(b []byte) (r verifyResult, err error) {
	if len(b) == 0 {
		return r, nil
	}
	for _, n := range []*int64{&r.records, &r.entries, &r.repaired, &r.faults} {
		if *n, b, err = tuple.ReadInt(b); err != nil {
			return r, errVerification
		}
	}
	if r.more, b, err = tuple.ReadBool(b); err != nil {
		return r, errVerification
	}
	for len(b) > 0 {
		var name string
		if name, b, err = tuple.ReadString(b); err != nil {
			return r, errVerification
		}
		r.skipped = append(r.skipped, name)
	}
	return r, nil
}

// add adds what a batch has found, but for its faults.
func (r *verifyResult) add(part *Report) {
	r.records += int64(part.Records)
	r.entries += int64(part.Entries)
	r.repaired += int64(part.Repaired)
	r.more = r.more || part.More
	for _, name := range part.Skipped {
		if !slices.Contains(r.skipped, name) {
			r.skipped = append(r.skipped, name)
		}
	}
}

// report returns the result as a report without its faults.
func (r *verifyResult) report() Report {
	return Report{Records: int(r.records), Entries: int(r.entries), Repaired: int(r.repaired), More: r.more, Skipped: slices.Clone(r.skipped)}
}

// sumResults adds up the results of ranges.
func sumResults(ranges []worklist.Range) (sum verifyResult, err error) {
	for i := range ranges {
		r, err := decodeVerifyResult(ranges[i].Result)
		if err != nil {
			return sum, err
		}
		part := r.report()
		sum.add(&part)
		sum.faults += r.faults
	}
	slices.Sort(sum.skipped)
	return sum, nil
}

// writeFault stores a fault of a range.
func (k verificationKeys) writeFault(tx kv.Transaction, begin []byte, number int64, f Fault) error {
	value, err := tuple.Tuple{f.Index, f.Key, f.ID, f.Reason}.Pack()
	if err == nil {
		tx.Set(k.Sub("fault", begin, number).Bytes(), value)
	}
	return err
}

// readFaults adds the faults that are stored to a report.
func (k verificationKeys) readFaults(ctx context.Context, tx kv.ReadTransaction, r *Report) error {
	for pair, err := range tx.GetRange(k.faults().Selectors(), kv.RangeOptions{Limit: maxFaults + 1, Mode: kv.ModeWantAll}).All(ctx) {
		if err != nil {
			return err
		}
		t, err := tuple.Unpack(pair.Value)
		if err != nil || len(t) != 4 {
			return errVerification
		}
		var f Fault
		var ok [4]bool
		f.Index, ok[0] = t[0].(string)
		f.Key, ok[1] = t[1].([]byte)
		f.ID, ok[2] = t[2].(string)
		f.Reason, ok[3] = t[3].(string)
		if slices.Contains(ok[:], false) {
			return errVerification
		}
		r.addFault(f)
	}
	return nil
}
