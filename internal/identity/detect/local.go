package detect

import (
	"fmt"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/identity/nvidia"
	"github.com/nemo-lens/lens/internal/identity/processstart"
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
		if start, err := processstart.Time(); err == nil {
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
	list := d.driver.devices()
	if len(list) == 0 {
		list = d.smi()
	}
	visible := nvidia.ReadVisible(d.Lookup)
	return visible.Count(known(list)), visible.IsSet() || len(list) > 0
}
