package detect

import (
	"fmt"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/semconv"
)

// local is the host, the process and its GPUs.
func (d *detector) local() []attribute.KeyValue {
	var attrs []attribute.KeyValue
	if name, err := os.Hostname(); err == nil && name != "" {
		attrs = append(attrs, semconv.HostNameKey.String(strings.ToValidUTF8(name, "\ufffd")))
	} else {
		d.warn(fmt.Sprintf("the name of the host is unknown: %v", err))
	}
	attrs = append(attrs, semconv.ProcessPIDKey.Int(os.Getpid()))
	if d.ProcessStart {
		if start, err := ProcessStartTime(); err == nil {
			attrs = append(attrs, semconv.ProcessCreationTimeKey.String(start.UTC().Format(time.RFC3339Nano)))
		} else {
			d.warn(err.Error())
		}
	}
	if n, ok := d.gpuCount(); ok {
		attrs = append(attrs, semconv.HostGPUCountKey.Int(n))
	}
	if d.GPUIdentity {
		attrs = append(attrs, d.gpuIdentity()...)
	}
	return attrs
}

// gpuCount is the number of GPUs of the process; ok is false if nothing says.
func (d *detector) gpuCount() (n int, ok bool) {
	if text, set := d.Lookup(visibleVar); set {
		n, exact := CountVisible(text), len(ParseVisible(text))
		if d.ExactGPUCount {
			return exact, true
		}
		if n != exact {
			d.warn(fmt.Sprintf("%s=%q counts as %d GPUs, like in NeMo Lens; CUDA sees %d", visibleVar, shorten(text), n, exact))
		}
		return n, true
	}
	if n = len(d.driver.devices()); n > 0 {
		return n, true
	}
	n = len(d.smi())
	return n, n > 0
}

// shorten keeps text from outside from flooding a log.
func shorten(text string) string {
	const limit = 60
	if len(text) > limit {
		return text[:limit] + "..."
	}
	return text
}
