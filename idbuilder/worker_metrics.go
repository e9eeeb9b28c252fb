// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics of the specification, and idbuilder_up of the deployed worker.
var (
	requestsTotal    = prometheus.NewDesc("idbuilder_requests_total", "Requests for IDs of the keys that were used of late.", []string{"key", "id_type"}, nil)
	requestDuration  = prometheus.NewDesc("idbuilder_request_duration_seconds", "Latency of requests for IDs.", []string{"key", "id_type"}, nil)
	sequenceCurrent  = prometheus.NewDesc("idbuilder_sequence_current", "Last number that this worker gave, or reserved.", []string{"key"}, nil)
	cacheRemaining   = prometheus.NewDesc("idbuilder_cache_remaining", "Numbers that this worker has reserved and not given.", []string{"key"}, nil)
	storageErrors    = prometheus.NewDesc("idbuilder_storage_errors_total", "Failed operations of the store.", []string{"backend", "operation"}, nil)
	storageWaits     = prometheus.NewDesc("idbuilder_requests_that_waited_total", "Requests for IDs that waited for the store.", nil, nil)
	storageOutage    = prometheus.NewDesc("idbuilder_storage_outage_seconds", "Time since the last answer of the store went out of date; 0 while it answers.", nil, nil)
	fromMemory       = prometheus.NewDesc("idbuilder_requests_in_outage_total", "Requests for IDs that were answered from memory while the store did not answer.", nil, nil)
	up               = prometheus.NewDesc("idbuilder_up", "1 while the service answers.", nil, nil)
	controllerLinked = prometheus.NewDesc("idbuilder_controller_connected", "1 while the controller answers; absent without one.", nil, nil)
)

// Describe implements prometheus.Collector.
func (w *Worker) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{requestsTotal, requestDuration, sequenceCurrent, cacheRemaining, storageErrors, storageWaits, storageOutage, fromMemory, up, controllerLinked} {
		out <- d
	}
}

// Collect implements prometheus.Collector. Keys that were not used for [Options.Idle] are
// left out.
func (w *Worker) Collect(out chan<- prometheus.Metric) {
	out <- prometheus.MustNewConstMetric(up, prometheus.GaugeValue, 1)
	out <- prometheus.MustNewConstMetric(storageWaits, prometheus.CounterValue, float64(w.pool.Metrics().Waits))
	out <- prometheus.MustNewConstMetric(storageOutage, prometheus.GaugeValue, w.watch.Outage().Seconds())
	out <- prometheus.MustNewConstMetric(fromMemory, prometheus.CounterValue, float64(w.usage.fromMemory.Load()))
	if f := w.options.Controller; f != nil {
		connected := 0.0
		if f().Connected {
			connected = 1
		}
		out <- prometheus.MustNewConstMetric(controllerLinked, prometheus.GaugeValue, connected)
	}
	w.usage.errors.Range(func(operation, n any) bool {
		out <- prometheus.MustNewConstMetric(storageErrors, prometheus.CounterValue, float64(n.(*count).Load()), w.options.Backend, operation.(string))
		return true
	})
	w.keys.entries.Range(func(_, e any) bool {
		e.(*keyEntry).collect(out)
		return true
	})
}
