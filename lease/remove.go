// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"slices"

	"github.com/kazahana-db/kazahana/idgen"
)

// goneRecord is what is left of services that were removed. It lies in the map of
// the default service, which is never removed.
type goneRecord struct {
	// Floor is when the last of their leases, and its continuation, had ended.
	Floor int64 `json:"floor"`
	// Frame is what their IDs have in common; a service of another frame is not
	// removed, so that its name is not used again with this one.
	Frame *frame `json:"frame,omitempty"`
	// Removed are the last services that were, the latest at the end.
	Removed []removedService `json:"removed,omitempty"`
}

// removedService names a service that was removed, and its record.
type removedService struct {
	Service     string `json:"service"`
	Incarnation string `json:"incarnation"`
}

// maxRemoved bounds goneRecord.Removed.
const maxRemoved = 32

// frame is the part of a layout that never changes.
type frame struct {
	Epoch      int64 `json:"epoch"`
	BitReserve int   `json:"bitReserve"`
	BitTs      int   `json:"bitTs"`
}

func frameOf(l idgen.Layout) frame {
	return frame{Epoch: l.CustomEpochMs, BitReserve: l.BitReserve, BitTs: l.BitTs}
}

func (r *serviceRecord) frame() frame {
	return frame{Epoch: r.Epoch, BitReserve: r.BitReserve, BitTs: r.BitTs}
}

func (r *goneRecord) check() error {
	if r.Floor < 0 {
		return errors.New("its floor is before 1970")
	}
	return nil
}

// incarnation returns that of the last removed record of a service; "" if none
// is known.
func (r *goneRecord) incarnation(service string) string {
	for _, removed := range slices.Backward(r.Removed) {
		if removed.Service == service {
			return removed.Incarnation
		}
	}
	return ""
}

// over returns when all leases of the service have ended, with their
// continuation, and its quarantine is over.
func (r *serviceRecord) over() int64 {
	over := max(r.Latest, r.Quarantine, r.Continued, r.Floor)
	for _, l := range r.Lengths {
		over = max(over, l.Until)
	}
	return over
}

// gone changes what is left of removed services, if change says so, and returns
// it.
func (s *Server) gone(ctx context.Context, change func(*goneRecord) bool) (record goneRecord, err error) {
	_, config, err := s.options.service(DefaultService)
	if errors.Is(err, ErrUnknownService) {
		config = s.options.Default
	}
	err = s.update(ctx, DefaultService, config, func(ses *session) error {
		values, err := ses.tx.Get(ctx, goneKey())
		if err != nil {
			return err
		}
		record = goneRecord{}
		if _, err := ses.decode(goneKey(), values[0], &record); err != nil {
			return err
		}
		if change(&record) {
			ses.set(goneKey(), encode(goneKey(), &record))
		}
		return nil
	})
	return record, err
}

// remove removes a service that nobody configured, if it holds nothing: all of
// its leases have ended, and can be continued no more. First the floor is raised,
// behind which all services begin that are made from then on. So it does not
// matter whether the clock that said so is right. Then the service is marked, so
// that nothing is granted any more, and its keys are removed, its record last.
// Removing can be continued by another server. A service of another frame than
// this server gives to those that nobody configured is left alone: some other
// server has a configuration for it.
func (s *Server) remove(ctx context.Context, service string) (removed bool, err error) {
	record, now := serviceRecord{}, int64(0)
	read := func(ses *session) error {
		_, err := ses.load(ctx)
		record, now = ses.record, ses.now
		return err
	}
	if err := s.update(ctx, service, s.options.Default, read); err != nil {
		return false, err
	}
	over := record.over()
	if record.Incarnation == "" || over >= now || record.frame() != frameOf(s.options.Default.Layout) {
		return false, nil
	}
	other := false
	_, err = s.gone(ctx, func(r *goneRecord) bool {
		f := record.frame()
		if other = r.Frame != nil && *r.Frame != f; other {
			return false
		}
		r.Floor = max(r.Floor, over)
		r.Frame = &f
		if r.incarnation(service) != record.Incarnation {
			r.Removed = append(r.Removed, removedService{Service: service, Incarnation: record.Incarnation})
			r.Removed = r.Removed[max(0, len(r.Removed)-maxRemoved):]
		}
		return true
	})
	if err != nil || other {
		return false, err
	}
	for done := false; !done; {
		err := s.update(ctx, service, s.options.Default, func(ses *session) (err error) {
			done, err = ses.remove(ctx, record.Incarnation, over)
			removed = done && ses.record.Removing
			return err
		})
		if err != nil {
			return false, err
		}
	}
	if removed {
		s.forget(service)
	}
	return removed, nil
}

// removePerCall is how many keys one transaction removes.
const removePerCall = 500

// remove does one step, and reports whether it was the last one.
func (ses *session) remove(ctx context.Context, incarnation string, over int64) (done bool, err error) {
	if _, err := ses.load(ctx); err != nil {
		return false, err
	}
	r := &ses.record
	if !ses.known || r.Incarnation != incarnation || r.over() > over {
		return true, nil // somebody else did, or leases from it again
	}
	if !r.Removing {
		r.Removing = true
		ses.save()
		return false, nil
	}
	pairs, err := ses.tx.Scan(ctx, []byte{0}, []byte{0xff}, removePerCall)
	if err != nil {
		return false, err
	}
	for _, pair := range pairs {
		if pair.Key[0] != keyService || len(pairs) == 1 {
			ses.set(pair.Key, nil)
		}
	}
	return len(pairs) <= 1, nil
}
