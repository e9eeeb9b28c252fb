// SPDX-License-Identifier: Apache-2.0

package lease

// isReady reports whether the store has all that granting leases needs. The
// default service is created with its first lease.
func (tx *serviceTx) isReady() bool {
	return tx.service == DefaultService || tx.known && !tx.record.Unsettled && !tx.record.Removing
}

// openService checks the record that load has read, makes one if there is none,
// and returns the end of the quarantine, which may begin here.
func (tx *serviceTx) openService() (quarantine int64, err error) {
	if tx.known {
		if err := tx.checkFrame(); err != nil {
			return 0, err
		}
	}
	store := tx.storeIncarnation()
	seen := tx.server.lastSeen(tx.service)
	lost := false
	switch {
	case !tx.known:
		tx.record = newServiceRecord(tx.config)
		tx.record.Unsettled = tx.service != DefaultService
		lost = !tx.server.options.Fresh || seen.Incarnation != ""
	case store != "" && store != tx.record.Store,
		seen.Incarnation != "" && seen.Incarnation != tx.record.Incarnation && seen.Incarnation != tx.record.After:
		lost = true
	default:
		return tx.quarantineEnd(), nil
	}
	tx.record.Store = store
	tx.record.inheritLengths(seen.times)
	if lost {
		tx.beginQuarantine(tx.server.options.Quarantine)
	}
	tx.saveRecord()
	return tx.quarantineEnd(), nil
}

// storeIncarnation returns the incarnation of the store; empty if it names none.
func (tx *serviceTx) storeIncarnation() string {
	if store, ok := tx.store.(IncarnationTx); ok {
		return store.Incarnation()
	}
	return ""
}

// saveRecord notes that the service's record is to be written.
func (tx *serviceTx) saveRecord() { tx.set(serviceKey(), encode(serviceKey(), tx.record)) }

// noteGrant notes that leases were granted; see [times].
func (tx *serviceTx) noteGrant() {
	if tx.record.noteGrant(tx.server.id, tx.now, tx.duration()) {
		tx.saveRecord()
	}
}

// checkFrame compares what is stored of the layout with what is configured.
func (tx *serviceTx) checkFrame() error {
	if tx.record.frame() != frameOf(tx.config.Layout) {
		return tx.customEpochError(tx.record.frame())
	}
	return nil
}

// customEpochError says that the configured layout contradicts the stored frame.
func (tx *serviceTx) customEpochError(stored frame) error {
	return &CustomEpochError{ServiceID: tx.service, Stored: stored.of(tx.config.Layout), Configured: tx.config.Layout}
}

// finishCreation makes a new service ready to grant leases: gone is what is left
// of services that were removed.
func (tx *serviceTx) finishCreation(gone goneRecord) error {
	_, listed := tx.server.options.Services[tx.service]
	if !listed && gone.Frame != nil && *gone.Frame != tx.record.frame() {
		return tx.customEpochError(*gone.Frame)
	}
	tx.record.Unsettled, tx.record.Floor, tx.record.After = false, gone.Floor, gone.incarnationOf(tx.service)
	if seen := tx.server.lastSeen(tx.service).Incarnation; seen != "" && seen == tx.record.After && tx.server.options.Fresh {
		tx.record.Quarantine, tx.record.Continued = 0, 0 // its leases were removed, not lost
	}
	tx.saveRecord()
	return nil
}
