// SPDX-License-Identifier: Apache-2.0

// Package idgenotel reports what ID generators count to OpenTelemetry.
//
//	observer, err := idgenotel.NewObserver(otel.GetMeterProvider())
//	if err != nil {
//		return err
//	}
//	ids, err := idgen.NewClient(idgen.Options{Provider: leases, ServiceID: "payments", Observer: observer})
//
// It uses only the API; the program chooses SDK and exporter. All instruments are
// observed when they are read: they do not slow down making IDs. Clients of one
// service in one process are added up, and counts do not go back when a client is
// shut down.
//
// # Instruments
//
// All have the attribute kazahana.service, which is "default" if a client names
// none. Section 10.3 of the kazahana specification lists what to monitor.
//
//	kazahana.id.generated     counter {id}           IDs made; kazahana.id.kind is leased, cached_fallback or random_fallback
//	kazahana.id.exhausted     counter {millisecond}  milliseconds whose IDs were used up before their end
//	kazahana.id.throughput    up-down {id}/ms        IDs a millisecond that can be made now
//	kazahana.lease.active     up-down {lease}        leases in use; 0 in fallback
//	kazahana.lease.positions  up-down {position}     positions that are leased, of 2^21 of the default layout
//	kazahana.lease.acquires   counter {call}         calls of the provider; outcome is ok or failed
//	kazahana.lease.releases   counter {call}         likewise
//	kazahana.lease.rejected   counter {lease}        leases that were not usable: of another epoch, for instance
//	kazahana.clock.jumps      counter {jump}         kazahana.clock.direction is backward or forward
//
// docs/operations.md says what to alert on.
//
// An [Observer] is safe for concurrent use. Nothing here takes part in
// transactions.
package idgenotel
