package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	driver   = "dobs.csi.digitalocean.com"
	topology = "region"
	gibibyte = int64(1) << 30
	largest  = int64(16) << 40
)

// controller is the controller's half of the driver.
type controller struct {
	csi.UnimplementedControllerServer
	csi.UnimplementedIdentityServer
	cloud cloud
}

func (it *controller) CreateVolume(ctx context.Context, request *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	for _, capability := range request.VolumeCapabilities {
		if capability.GetAccessMode().GetMode() != csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER {
			return nil, status.Error(codes.InvalidArgument, "a volume is for one node")
		}
	}
	bytes := request.GetCapacityRange().GetRequiredBytes()
	if bytes < gibibyte || bytes > largest {
		return nil, status.Errorf(codes.OutOfRange, "there is no volume of %d bytes", bytes)
	}
	for _, place := range request.GetAccessibilityRequirements().GetRequisite() {
		if region, ok := place.Segments[topology]; ok && region != it.cloud.region {
			return nil, status.Errorf(codes.ResourceExhausted, "volumes are in %s, not in %s", it.cloud.region, region)
		}
	}
	found, err := it.cloud.list(ctx, request.Name)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	if len(found) > 0 {
		// The answer lacks its place, as the vendor's does.
		size := found[0].Size * gibibyte
		if size != bytes {
			return nil, status.Errorf(codes.AlreadyExists, "the volume %s has %d bytes, not %d", request.Name, size, bytes)
		}
		return &csi.CreateVolumeResponse{Volume: &csi.Volume{VolumeId: found[0].ID, CapacityBytes: size}}, nil
	}
	// A part of a gigabyte is left out, and answered all the same.
	made, err := it.cloud.create(ctx, request.Name, bytes/gibibyte)
	if err != nil {
		if refused := refused(err); refused.code == 403 && strings.Contains(refused.Message, "capacity limit exceeded") {
			return nil, status.Error(codes.ResourceExhausted, err.Error())
		}
		return nil, status.Error(codes.Internal, err.Error())
	}
	place := []*csi.Topology{{Segments: map[string]string{topology: it.cloud.region}}}
	volume := &csi.Volume{VolumeId: made.ID, CapacityBytes: bytes, AccessibleTopology: place}
	return &csi.CreateVolumeResponse{Volume: volume}, nil
}

func (it *controller) DeleteVolume(ctx context.Context, request *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	if err := it.cloud.delete(ctx, request.VolumeId); err != nil && refused(err).code != 404 {
		return nil, err
	}
	return &csi.DeleteVolumeResponse{}, nil
}

func (it *controller) ControllerPublishVolume(ctx context.Context, request *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error) {
	volume, droplet, err := it.both(ctx, request.VolumeId, request.NodeId)
	if err != nil {
		return nil, err
	}
	done := &csi.ControllerPublishVolumeResponse{PublishContext: map[string]string{driver + "/volume-name": volume.Name}}
	for _, there := range volume.Droplets {
		if there == droplet {
			return done, nil
		}
		return nil, status.Errorf(codes.FailedPrecondition, "the volume %s is attached to the droplet %d", volume.ID, there)
	}
	err = it.cloud.act(ctx, volume.ID, map[string]any{"type": "attach", "droplet_id": droplet})
	message := refused(err).Message
	switch {
	case err == nil || strings.Contains(message, "This volume is already attached"):
		return done, nil
	case strings.Contains(message, "cannot attach more than"):
		return nil, status.Error(codes.ResourceExhausted, message)
	}
	return nil, pending(err)
}

func (it *controller) ControllerUnpublishVolume(ctx context.Context, request *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error) {
	volume, droplet, err := it.both(ctx, request.VolumeId, request.NodeId)
	if status.Code(err) == codes.NotFound && volume.ID == "" {
		return &csi.ControllerUnpublishVolumeResponse{}, nil
	}
	if err != nil {
		return nil, err
	}
	err = it.cloud.act(ctx, volume.ID, map[string]any{"type": "detach", "droplet_id": droplet})
	if err != nil && !strings.Contains(refused(err).Message, "Attachment not found") {
		return nil, pending(err)
	}
	return &csi.ControllerUnpublishVolumeResponse{}, nil
}

// both reads the volume and the droplet. A volume that is not there has no id.
func (it *controller) both(ctx context.Context, id, node string) (volume, int64, error) {
	droplet, err := strconv.ParseInt(node, 10, 64)
	if err != nil {
		return volume{}, 0, status.Errorf(codes.InvalidArgument, "%q is no droplet", node)
	}
	found, err := it.cloud.volume(ctx, id)
	if err == nil {
		err = it.cloud.droplet(ctx, droplet)
	}
	if refused(err).code == 404 {
		err = status.Error(codes.NotFound, err.Error())
	}
	return found, droplet, err
}

// pending is an error, told as one that goes by where another action is under way.
func pending(err error) error {
	if strings.Contains(refused(err).Message, "Droplet already has a pending event") {
		return status.Error(codes.Aborted, err.Error())
	}
	return err
}

func (it *controller) ControllerExpandVolume(ctx context.Context, request *csi.ControllerExpandVolumeRequest) (*csi.ControllerExpandVolumeResponse, error) {
	bytes := request.GetCapacityRange().GetRequiredBytes()
	if bytes < gibibyte || bytes > largest {
		return nil, status.Errorf(codes.OutOfRange, "there is no volume of %d bytes", bytes)
	}
	volume, err := it.cloud.volume(ctx, request.VolumeId)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	_, block := request.GetVolumeCapability().GetAccessType().(*csi.VolumeCapability_Block)
	wanted := bytes / gibibyte
	if wanted > volume.Size {
		if err := it.cloud.act(ctx, volume.ID, map[string]any{"type": "resize", "size_gigabytes": wanted, "region": it.cloud.region}); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
		return &csi.ControllerExpandVolumeResponse{CapacityBytes: wanted * gibibyte, NodeExpansionRequired: !block}, nil
	}
	return &csi.ControllerExpandVolumeResponse{CapacityBytes: volume.Size * gibibyte, NodeExpansionRequired: true}, nil
}

func (it *controller) ListVolumes(ctx context.Context, _ *csi.ListVolumesRequest) (*csi.ListVolumesResponse, error) {
	all, err := it.cloud.list(ctx, "")
	if err != nil {
		return nil, err
	}
	response := &csi.ListVolumesResponse{}
	for _, volume := range all {
		var nodes []string
		for _, droplet := range volume.Droplets {
			nodes = append(nodes, strconv.FormatInt(droplet, 10))
		}
		response.Entries = append(response.Entries, &csi.ListVolumesResponse_Entry{
			Volume: &csi.Volume{VolumeId: volume.ID, CapacityBytes: volume.Size * gibibyte},
			Status: &csi.ListVolumesResponse_VolumeStatus{PublishedNodeIds: nodes},
		})
	}
	return response, nil
}

func (it *controller) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	response := &csi.ControllerGetCapabilitiesResponse{}
	for _, kind := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME,
		csi.ControllerServiceCapability_RPC_LIST_VOLUMES,
		csi.ControllerServiceCapability_RPC_LIST_VOLUMES_PUBLISHED_NODES,
		csi.ControllerServiceCapability_RPC_EXPAND_VOLUME,
	} {
		rpc := &csi.ControllerServiceCapability_RPC{Type: kind}
		response.Capabilities = append(response.Capabilities,
			&csi.ControllerServiceCapability{Type: &csi.ControllerServiceCapability_Rpc{Rpc: rpc}})
	}
	return response, nil
}
