// SPDX-License-Identifier: Apache-2.0

// Package clientotel makes spans and metrics of a client of the ID service, for
// OpenTelemetry.
//
//	transport, err := clientotel.NewTransport(nil, otel.GetTracerProvider(), otel.GetMeterProvider())
//	if err != nil {
//		return err
//	}
//	ids, err := client.New(client.Options{URLs: urls, Token: token, HTTPClient: &http.Client{Transport: transport}})
//	if err != nil {
//		return err
//	}
//	registration, err := clientotel.Observe(ids, otel.GetMeterProvider())
//
// It uses the API alone; the program chooses the SDK and the exporter.
//
// # Spans
//
// Each try of a request is a span of kind client, such as "GET /v1/id/increment". The service's span is
// its child, by the header traceparent. Requests that fetch IDs ahead belong to no call of the
// program, so their spans begin traces of their own. Neither tokens nor lease keys are
// attributes.
//
// # Instruments
//
//	http.client.request.duration  histogram s    tries of requests; http.request.method, http.response.status_code or error.type
//	idbuilder.client.requests     counter {try}  tries that were sent
//	idbuilder.client.failures     counter {try}  tries that failed, or were refused
//	idbuilder.client.failovers    counter {change}   changes to another URL
//	idbuilder.client.fetched      counter {id}   IDs that were fetched
//	idbuilder.client.discarded    counter {id}   of those, left out to keep the order
//	idbuilder.client.waits        counter {call} calls for an ID that had to wait for the service
//	idbuilder.client.leases       counter {lease}    leases of worker ids, with renewals
//
// Everything here is safe for concurrent use.
package clientotel
