// SPDX-License-Identifier: Apache-2.0

// Package leaseotel reports what a lease provider grants and refuses to
// OpenTelemetry.
//
//	counted, err := leaseotel.Instrument(server, otel.GetMeterProvider())
//	if err != nil {
//		return err
//	}
//	handler, err := leasehttp.NewHandler(counted, …) // serve what is counted
//
// It uses the API alone, and wraps any [idgen.LeaseProvider]: a [lease.Server]
// where it is served, or what a program leases from.
//
// # Instruments
//
//	kazahana.lease.granted     counter {lease}  leases granted
//	kazahana.lease.refused     counter {call}   acquisitions that brought none, with error.type
//	kazahana.lease.released    counter {lease}  leases released
//	kazahana.lease.unreleased  counter {call}   releases that were refused or failed, with error.type
//	kazahana.lease.duration    histogram s      time of each call, with kazahana.operation (acquire, release) and error.type
//
// All carry kazahana.service, but for calls that name no service that there is.
// error.type is one of exhausted, quarantine, invalid, unknown_service, epoch,
// corrupt, not_found, signature, expired_timestamp, last_ts, clock, canceled
// and store, the last for whatever else the store or the network says.
//
// A release over HTTP that names no service is a call for each service until one has the
// lease; the others count as unreleased, with not_found or signature.
//
// The provider that [Instrument] returns is safe for concurrent use. Nothing
// here takes part in transactions.
package leaseotel
